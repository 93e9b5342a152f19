// @ts-check
// Something that is asked for often and done at most once in a while. A request that comes too
// soon is put off, not dropped: what it would have seen may be new.

/**
 * Calls `act` at once if `rest` milliseconds have passed since the last call, else as soon as they
 * have. The time counts from now on.
 * @param {number} rest @param {() => void} act @param {AbortSignal} signal
 * @param {{now?: () => number, later?: (act: () => void, ms: number) => number}} [clock]
 * @returns {() => void}
 */
export function atMostEvery(rest, act, signal, { now = () => performance.now(), later = (act, ms) => setTimeout(act, ms) } = {}) {
  let last = now();
  let isPutOff = false;
  const call = () => {
    isPutOff = false;
    last = now();
    if (!signal.aborted) act();
  };
  return () => {
    const left = last + rest - now();
    if (left <= 0) return call();
    if (isPutOff) return;
    isPutOff = true;
    later(call, left);
  };
}
