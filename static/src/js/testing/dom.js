// A page for the units of elements, where there is no browser: jsdom's, which lays nothing out.
// Import this before the element that is tested.

import { after } from "node:test";
import { JSDOM, VirtualConsole } from "jsdom";

const CLASSES = ["Event", "CustomEvent", "EventTarget", "KeyboardEvent", "MouseEvent", "FocusEvent", "InputEvent", "AbortController", "Node", "Element", "HTMLElement", "HTMLInputElement", "HTMLTextAreaElement", "HTMLSelectElement", "HTMLDetailsElement", "HTMLFormElement", "HTMLButtonElement", "HTMLDialogElement", "DOMParser", "FormData", "MutationObserver", "Document", "DocumentFragment"];
const VALUES = ["window", "document", "customElements", "localStorage", "sessionStorage", "location", "innerHeight"];
const CALLS = ["getSelection", "getComputedStyle", "requestAnimationFrame", "cancelAnimationFrame"];

/** Makes an empty page the one of this test, and what it asks the network for answered by
 * `reply(url, options)`: a value for JSON, a string for a part of a page, or a promise of either. */
export function freshPage(markup = "", reply = () => null) {
  globalThis.fetch = async (url, options = {}) => {
    const body = await reply(String(url), { ...options, body: options.body ? JSON.parse(options.body) : undefined });
    if (body instanceof Response) return body;
    return new Response(typeof body === "string" ? body : JSON.stringify(body ?? {}));
  };
  document.body.replaceChildren(); // the elements of the last test leave, and what they wait for
  document.body.removeAttribute("class");
  localStorage.clear();
  document.body.innerHTML = markup;
  return document;
}

/** Adds an element to the page, as the server would have drawn it. */
export function place(Kind, { inside = document.body, markup = "", ...data } = {}) {
  const element = new Kind();
  element.innerHTML = markup;
  Object.assign(element.dataset, data);
  inside.append(element);
  return element;
}

/** A page of a tree, for elements that ask for it: what they listen to, and what a test gives. */
export function treePage(values = {}) {
  const events = Object.assign(new EventTarget(), { on: () => () => {} });
  const emitter = () => new EventTarget();
  const page = Object.assign(emitter(), {
    position: "n1",
    api: "/api/trees/t",
    web: "/trees/t",
    settings: { tree: "t", grove: "g", me: "ada", mode: "dialogue", workspace: "w", keys: [], can: { write: true } },
    can: { write: true, continue: true },
    cast: new Map(),
    store: null,
    events,
    drafts: Object.assign(emitter(), { of: () => "", write() {}, cut() {}, isCut: () => false, isInHand: () => false, slots: () => new Set() }),
    excerpts: emitter(),
    marks: emitter(),
    filter: Object.assign(emitter(), { sieve: () => undefined, isOn: false }),
    sending: new Set(),
    sends() {},
    sent: async () => true,
    outbox: Object.assign(emitter(), { waiting: false, left: () => [] }),
    folds: { ids: new Set() },
    whereabouts: { share() {} },
    acts: {},
    emitted: [],
    emit(name, detail) {
      page.emitted.push([name, detail]);
      page.dispatchEvent(new CustomEvent(name, { detail }));
    },
    refuse: (error) => page.emit("refused", error),
    ...values,
  });
  const root = Object.assign(document.createElement("loom-tree"), { page });
  document.body.append(root);
  return page;
}

/** An answer that comes when the test says so. */
export function held() {
  const answer = {};
  answer.promise = new Promise((resolve, reject) => Object.assign(answer, { give: resolve, refuse: reject }));
  return answer;
}

/** Returns when everything that waits for nothing but its turn has had it. */
export const settled = () => new Promise((done) => setImmediate(done));

const { window } = new JSDOM('<!doctype html><html lang="en"><body></body></html>', {
  url: "https://heddle.test/trees/t",
  pretendToBeVisual: true,
  virtualConsole: new VirtualConsole().forwardTo(console),
});
for (const name of [...CLASSES, ...VALUES]) globalThis[name] = window[name];
for (const name of CALLS) globalThis[name] = window[name].bind(window);
// What a page would wait for ends with the tests.
for (const name of ["setTimeout", "setInterval"]) {
  const wait = globalThis[name];
  globalThis[name] = (...args) => wait(...args).unref();
}
// What jsdom has no layout for.
globalThis.ResizeObserver = window.ResizeObserver = class {
  observe() {}
  unobserve() {}
  disconnect() {}
};
Object.defineProperty(window.document, "fonts", { value: { ready: Promise.resolve() } });
globalThis.CSS = { escape: (text) => text.replace(/[^\w-]/g, "\\$&") };
Object.assign(window.Element.prototype, { scrollIntoView() {}, checkVisibility: () => true });
Object.assign(window.HTMLDialogElement.prototype, {
  showModal() {
    this.open = true;
  },
  close() {
    this.open = false;
    this.dispatchEvent(new Event("close"));
  },
});
after(() => {
  freshPage();
  window.close();
});
