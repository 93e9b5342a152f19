// @ts-check
// Names of regions on the map: larger ones first, none over another. Pure but for measuring words.

/** @typedef {{level: number, x: number, y: number, count: number, within: number, words: string[], title: string}} Region */
/** @typedef {{at: number, words: string, x: number, y: number, size: number, level: number}} Label */

/** The levels of regions that are named at a zoom (1: the whole map fits). @param {number} zoom */
export function levelAt(zoom) {
  return zoom < 1.9 ? 0 : zoom < 4.5 ? 1 : 2;
}

/** The names that fit, in pixels. A region's own inner ones stand for it from near; one without
 * keeps its name. @param {Region[]} regions @param {number} level
 * @param {(x: number, y: number) => [number, number]} toScreen @param {(words: string, size: number, level: number) => number} measure
 * @param {{width: number, height: number}} frame @returns {Label[]} */
export function labelsOf(regions, level, toScreen, measure, { width, height }) {
  const split = new Set();
  for (const region of regions) if (region.level <= level && region.within >= 0) split.add(region.within);
  const most = Math.max(1, ...regions.map((region) => region.count));
  /** @type {Label[]} */
  const placed = [];
  /** @type {number[][]} */
  const taken = [];
  regions
    .map((region, at) => ({ region, at }))
    .filter(({ region, at }) => region.level <= level && !split.has(at) && region.words.length)
    .sort((one, other) => other.region.count - one.region.count)
    .forEach(({ region, at }) => {
      const [x, y] = toScreen(region.x, region.y);
      if (x < -40 || y < -20 || x > width + 40 || y > height + 20) return;
      const size = Math.round((width < 500 ? 14 : 16) + (width < 500 ? 7 : 12) * Math.sqrt(region.count / most));
      // All words first, then above or below what is in the way, then fewer words.
      for (const [count, down] of [[3, 0], [3, 1.4], [3, -1.4], [2, 0], [2, 1.4], [2, -1.4], [1, 0], [1, 1.4], [1, -1.4], [1, 2.4], [1, -2.4]]) {
        if (count > Math.max(1, region.words.length) && !(count === 3 && region.title)) continue;
        const words = count === 3 && region.title ? region.title : region.words.slice(0, count).join(" · ");
        const half = measure(words, size, region.level) / 2 + 6;
        const middle = Math.max(half + 4, Math.min(width - half - 4, x));
        if (Math.abs(middle - x) > half * 0.7 || half * 2 > width * 0.6) continue;
        const high = y + down * size;
        const box = [middle - half, high - size * 0.7, middle + half, high + size * 0.7];
        if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
        taken.push(box);
        placed.push({ at, words, x: middle, y: high, size, level: region.level });
        return;
      }
    });
  return placed;
}
