// @ts-check
// Which item of a graph is meant: under a point, in a direction, or within a line drawn by hand.

/** The item nearest to a point; -1 if there is none. @param {ArrayLike<number>} x @param {ArrayLike<number>} y
 * @param {number} px @param {number} py @returns {[number, number]} it and how far it is */
export function nearest(x, y, px, py) {
  let [best, far] = [-1, Infinity];
  for (let at = 0; at < x.length; at += 1) {
    const now = Math.hypot(x[at] - px, y[at] - py);
    if (now < far) [best, far] = [at, now];
  }
  return [best, far];
}

/** The item at a point, which may be missed by so much; -1: none. @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} y @param {number} px @param {number} py @param {number} by */
export function onto(x, y, px, py, by) {
  const [at, far] = nearest(x, y, px, py);
  return far <= by ? at : -1;
}

/** The next item from one in a direction: near, and not far off to the side; itself if there is none.
 * @param {ArrayLike<number>} x @param {ArrayLike<number>} y @param {number} from @param {[number, number]} way */
export function towards(x, y, from, [wx, wy]) {
  let [best, least] = [from, Infinity];
  for (let at = 0; at < x.length; at += 1) {
    const [dx, dy] = [x[at] - x[from], y[at] - y[from]];
    const along = dx * wx + dy * wy;
    const beside = Math.abs(dx * wy - dy * wx);
    if (at === from || along <= 0 || beside > along * 2) continue;
    const cost = along + 2 * beside;
    if (cost < least) [best, least] = [at, cost];
  }
  return best;
}

/** Whether a point is within a line that is closed at its ends. @param {[number, number][]} line
 * @param {number} px @param {number} py */
export function inside(line, px, py) {
  let is = false;
  for (let at = 0, before = line.length - 1; at < line.length; before = at, at += 1) {
    const [ax, ay] = line[at];
    const [bx, by] = line[before];
    if (ay > py !== by > py && px < ((bx - ax) * (py - ay)) / (by - ay) + ax) is = !is;
  }
  return is;
}
