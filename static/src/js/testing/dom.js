// A document for the units of elements, where there is no browser: nodes, events, forms and the
// selectors of selectors.js. It lays nothing out: every box is empty, unless a test gives it a size.
// Import it before the element that is tested.

import { setMaxListeners } from "node:events";
import { after } from "node:test";
import { isMatch } from "./selectors.js";

const REFLECTED = { id: "id", className: "class", title: "title", href: "href", type: "type", name: "name", role: "role", dir: "dir", lang: "lang", placeholder: "placeholder", ariaPressed: "aria-pressed", ariaHidden: "aria-hidden", ariaLabel: "aria-label" };
const FLAGS = { hidden: "hidden", open: "open", disabled: "disabled" };
const EMPTY = new Set(["br", "hr", "img", "input", "meta", "link"]);
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };
const dashed = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const camel = (name) => name.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());

class Target {
  #listeners = [];

  addEventListener(type, listener, { signal, once = false } = {}) {
    if (signal?.aborted || this.#listeners.some((one) => one.type === type && one.listener === listener)) return;
    this.#listeners.push({ type, listener, once, signal });
  }

  removeEventListener(type, listener) {
    this.#listeners = this.#listeners.filter((one) => one.type !== type || one.listener !== listener);
  }

  dispatchEvent(event) {
    Object.defineProperty(event, "target", { value: this, configurable: true });
    for (let node = this; node; node = event.bubbles && !event.cancelBubble ? node.parentNode : null) node.hearEvent(event);
    return !event.defaultPrevented;
  }

  hearEvent(event) {
    for (const { type, listener, once, signal } of this.#listeners) {
      if (type !== event.type || signal?.aborted) continue;
      if (once) this.removeEventListener(type, listener);
      listener.call(this, event);
    }
  }
}

class Node extends Target {
  static DOCUMENT_POSITION_FOLLOWING = 4;
  parentNode = null;
  childNodes = [];

  get parentElement() {
    return this.parentNode instanceof Element ? this.parentNode : null;
  }
  get firstChild() {
    return this.childNodes[0] ?? null;
  }
  get lastChild() {
    return this.childNodes.at(-1) ?? null;
  }
  get nextSibling() {
    return this.nodeBeside(1);
  }
  get previousSibling() {
    return this.nodeBeside(-1);
  }
  get ownerDocument() {
    return globalThis.document;
  }
  get isConnected() {
    for (let node = this; node; node = node.parentNode) if (node === globalThis.document) return true;
    return false;
  }
  nodeBeside(by) {
    const all = this.parentNode?.childNodes ?? [];
    return all[all.indexOf(this) + by] ?? null;
  }
  contains(node) {
    for (let at = node; at; at = at.parentNode) if (at === this) return true;
    return false;
  }
  compareDocumentPosition(other) {
    const order = [];
    globalThis.document.visitAll((node) => order.push(node));
    return order.indexOf(other) > order.indexOf(this) ? Node.DOCUMENT_POSITION_FOLLOWING : 2;
  }
  insertNodes(place, nodes) {
    const fresh = nodes.flatMap((node) => (node instanceof Fragment ? [...node.childNodes] : [node instanceof Node ? node : new Text(String(node))]));
    const before = this.childNodes[place];
    for (const node of fresh) node.remove();
    const at = before ? this.childNodes.indexOf(before) : this.childNodes.length;
    this.childNodes.splice(at, 0, ...fresh);
    for (const node of fresh) node.parentNode = this;
    if (this.isConnected) for (const node of fresh) node.visitAll((one) => one.connectedCallback?.());
  }
  visitAll(visit) {
    visit(this);
    for (const child of [...this.childNodes]) child.visitAll(visit);
  }
  remove() {
    if (!this.parentNode) return;
    const was = this.isConnected;
    this.parentNode.childNodes.splice(this.parentNode.childNodes.indexOf(this), 1);
    this.parentNode = null;
    if (was) this.visitAll((one) => one.disconnectedCallback?.());
  }
  before(...nodes) {
    this.parentNode?.insertNodes(this.parentNode.childNodes.indexOf(this), nodes);
  }
  after(...nodes) {
    this.parentNode?.insertNodes(this.parentNode.childNodes.indexOf(this) + 1, nodes);
  }
  replaceWith(...nodes) {
    this.before(...nodes);
    this.remove();
  }
  isEqualNode(other) {
    return other instanceof Node && this.outerMarkup === other.outerMarkup;
  }
}

class Text extends Node {
  nodeType = 3;
  constructor(data) {
    super();
    this.data = data;
  }
  get textContent() {
    return this.data;
  }
  get outerMarkup() {
    return this.data.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  }
  cloneNode() {
    return new Text(this.data);
  }
}

class Parent extends Node {
  get children() {
    return this.childNodes.filter((node) => node instanceof Element);
  }
  get childElementCount() {
    return this.children.length;
  }
  get firstElementChild() {
    return this.children[0] ?? null;
  }
  get lastElementChild() {
    return this.children.at(-1) ?? null;
  }
  get textContent() {
    return this.childNodes.map((node) => node.textContent).join("");
  }
  set textContent(text) {
    this.replaceChildren(...(text ? [text] : []));
  }
  get innerMarkup() {
    return this.childNodes.map((node) => node.outerMarkup).join("");
  }
  append(...nodes) {
    this.insertNodes(this.childNodes.length, nodes);
  }
  prepend(...nodes) {
    this.insertNodes(0, nodes);
  }
  insertBefore(node, before) {
    this.insertNodes(before ? this.childNodes.indexOf(before) : this.childNodes.length, [node]);
    return node;
  }
  replaceChildren(...nodes) {
    for (const node of [...this.childNodes]) node.remove();
    this.append(...nodes);
  }
  querySelectorAll(selectors) {
    const all = [];
    this.visitAll((node) => node !== this && node instanceof Element && isMatch(node, selectors, this) && all.push(node));
    return all;
  }
  querySelector(selectors) {
    return this.querySelectorAll(selectors)[0] ?? null;
  }
  getElementById(id) {
    return this.querySelectorAll("*").find((element) => element.id === id) ?? null;
  }
}

class Fragment extends Parent {
  nodeType = 11;
  cloneNode(isDeep) {
    const copy = new Fragment();
    if (isDeep) copy.append(...this.childNodes.map((node) => node.cloneNode(true)));
    return copy;
  }
  get outerMarkup() {
    return this.innerMarkup;
  }
}

class Element extends Parent {
  nodeType = 1;
  attributes = new Map();
  fieldState = {};
  scrollTop = 0;
  scrollHeight = 0;
  clientHeight = 0;

  constructor(name = names.get(new.target)) {
    super();
    this.localName = name;
    this.style = Object.assign(Object.create({ setProperty: (key, value) => (this.style[key] = value) }), {});
    this.dataset = new Proxy(
      {},
      {
        get: (_, key) => this.getAttribute(`data-${dashed(String(key))}`) ?? undefined,
        set: (_, key, value) => (this.setAttribute(`data-${dashed(key)}`, value), true),
        has: (_, key) => this.hasAttribute(`data-${dashed(key)}`),
        deleteProperty: (_, key) => (this.removeAttribute(`data-${dashed(key)}`), true),
        ownKeys: () => [...this.attributes.keys()].filter((key) => key.startsWith("data-")).map((key) => camel(key.slice(5))),
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      },
    );
  }
  get tagName() {
    return this.localName.toUpperCase();
  }
  get classList() {
    const all = () => (this.getAttribute("class") ?? "").split(/\s+/).filter(Boolean);
    const set = (list) => (list.length || this.hasAttribute("class")) && this.setAttribute("class", [...new Set(list)].join(" "));
    const toggle = (name, isOn = !all().includes(name)) => (set(isOn ? [...all(), name] : all().filter((one) => one !== name)), isOn);
    return { contains: (name) => all().includes(name), add: (...more) => set([...all(), ...more]), remove: (...less) => set(all().filter((one) => !less.includes(one))), toggle };
  }
  get outerMarkup() {
    const attributes = [...this.attributes].sort().map(([key, value]) => ` ${key}="${value.replaceAll('"', "&quot;")}"`);
    return `<${this.localName}${attributes.join("")}>${this.innerMarkup}</${this.localName}>`;
  }
  get innerHTML() {
    return this.innerMarkup;
  }
  set innerHTML(markup) {
    this.replaceChildren(...read(markup));
  }
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  hasAttribute(name) {
    return this.attributes.has(name);
  }
  setAttribute(name, value) {
    this.attributes.set(name, String(value));
  }
  removeAttribute(name) {
    this.attributes.delete(name);
  }
  matches(selectors) {
    return isMatch(this, selectors);
  }
  closest(selectors) {
    for (let element = this; element; element = element.parentElement) if (element.matches(selectors)) return element;
    return null;
  }
  get previousElementSibling() {
    return this.elementBeside(-1);
  }
  get nextElementSibling() {
    return this.elementBeside(1);
  }
  elementBeside(by) {
    const all = this.parentNode?.children ?? [];
    return all[all.indexOf(this) + by] ?? null;
  }
  cloneNode(isDeep) {
    const copy = globalThis.document.createElement(this.localName);
    for (const [key, value] of this.attributes) copy.setAttribute(key, value);
    if (isDeep) copy.append(...this.childNodes.map((node) => node.cloneNode(true)));
    return copy;
  }
  get content() {
    const fragment = new Fragment();
    fragment.append(...this.childNodes.map((node) => node.cloneNode(true)));
    return fragment;
  }
  click() {
    this.dispatchEvent(Object.assign(new Event("click", { bubbles: true, cancelable: true }), { button: 0 }));
  }
  focus() {
    globalThis.document.activeElement = this;
  }
  blur() {
    globalThis.document.activeElement = globalThis.document.body;
  }
  checkVisibility() {
    return this.closest("[hidden]") === null;
  }
  getBoundingClientRect() {
    return { top: 0, bottom: 0, left: 0, right: 0, width: 0, height: 0 };
  }
  scrollIntoView() {}
  select() {}
  showModal() {
    this.open = true;
  }
  close() {
    this.open = false;
    this.dispatchEvent(new Event("close"));
  }
  requestSubmit() {
    this.dispatchEvent(Object.assign(new Event("submit", { bubbles: true, cancelable: true }), { submitter: null }));
  }
  get elements() {
    const all = this.querySelectorAll("input, select, textarea, button");
    return Object.assign(all, { namedItem: (name) => all.find((field) => field.name === name) ?? null });
  }
  get options() {
    return this.querySelectorAll("option");
  }
  get value() {
    if (this.localName !== "select") return this.fieldState.value ?? this.getAttribute("value") ?? (this.localName === "textarea" ? this.textContent : "");
    return this.options.some((option) => option.value === this.fieldState.value) ? this.fieldState.value : (this.options[0]?.value ?? "");
  }
  set value(value) {
    this.fieldState.value = String(value);
  }
}

for (const [property, attribute] of Object.entries(REFLECTED)) {
  Object.defineProperty(Element.prototype, property, {
    get() {
      return this.getAttribute(attribute) ?? "";
    },
    set(value) {
      this.setAttribute(attribute, value);
    },
  });
}
for (const [property, attribute] of Object.entries(FLAGS)) {
  Object.defineProperty(Element.prototype, property, {
    get() {
      return this.hasAttribute(attribute);
    },
    set(isOn) {
      if (isOn) this.setAttribute(attribute, "");
      else this.removeAttribute(attribute);
    },
  });
}

Object.defineProperty(Element.prototype, "tabIndex", {
  get() {
    return Number(this.getAttribute("tabindex") ?? -1);
  },
  set(index) {
    this.setAttribute("tabindex", index);
  },
});

/** The nodes of some markup. */
function read(markup) {
  const top = new Fragment();
  let here = top;
  const words = (text) => text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name) => ENTITIES[name]);
  for (const [, comment, close, name, rest, text] of markup.matchAll(/(<!--[\s\S]*?-->)|<(\/?)([\w-]+)((?:\s+[\w:-]+(?:="[^"]*")?)*)\s*\/?>|([^<]+)/g)) {
    if (comment) continue;
    if (text) here.append(words(text));
    else if (close) here = here.parentNode ?? top;
    else {
      const element = globalThis.document.createElement(name);
      for (const [, key, value = ""] of rest.matchAll(/([\w:-]+)(?:="([^"]*)")?/g)) element.setAttribute(key, words(value));
      here.append(element);
      if (!EMPTY.has(name)) here = element;
    }
  }
  return top.childNodes;
}

const names = new Map();
const defined = new Map();

class Document extends Parent {
  nodeType = 9;
  cookie = "";
  fonts = { ready: Promise.resolve() };
  createElement(name) {
    const Kind = defined.get(name);
    return Kind ? new Kind() : new Element(name);
  }
  createTextNode(text) {
    return new Text(text);
  }
  createElementNS(_, name) {
    return new Element(name);
  }
  get body() {
    return this.querySelector("body");
  }
  get documentElement() {
    return this.firstElementChild;
  }
}

/** Makes an empty document the one of this test, and what the page asks the network for answered by
 * `reply(url, options)`: a value for JSON, a string for a part of a page, or a promise of either. */
export function freshPage(markup = "", reply = () => null) {
  for (const old of globalThis.document?.querySelectorAll("*") ?? []) old.disconnectedCallback?.();
  const document = (globalThis.document = new Document());
  document.append(document.createElement("html"));
  document.documentElement.lang = "en";
  document.documentElement.append(document.createElement("body"));
  document.activeElement = document.body;
  globalThis.fetch = async (url, options = {}) => {
    const body = await reply(String(url), { ...options, body: options.body ? JSON.parse(options.body) : undefined });
    if (body instanceof Response) return body;
    return new Response(typeof body === "string" ? body : JSON.stringify(body ?? {}));
  };
  const kept = new Map();
  globalThis.localStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, String(value)), removeItem: (key) => kept.delete(key) };
  document.body.innerHTML = markup;
  return document;
}

/** Adds an element to the page, as the server would have drawn it. */
export function place(Kind, { inside = globalThis.document.body, markup = "", ...data } = {}) {
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
    drafts: Object.assign(emitter(), { of: () => "", write() {}, slots: () => new Set() }),
    excerpts: emitter(),
    marks: emitter(),
    filter: Object.assign(emitter(), { sieve: () => undefined, isOn: false }),
    outbox: Object.assign(emitter(), { waiting: false, left: () => [] }),
    folds: { ids: new Set() },
    whereabouts: { share() {} },
    acts: {},
    emitted: [],
    emit(name, detail) {
      page.emitted.push([name, detail]);
      page.dispatchEvent(new CustomEvent(name, { detail }));
    },
    ...values,
  });
  const root = Object.assign(globalThis.document.createElement("loom-tree"), { page });
  globalThis.document.body.append(root);
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

setMaxListeners(0); // an element gives one signal to all that it listens to
const wait = globalThis.setTimeout;
globalThis.setTimeout = (...args) => wait(...args).unref(); // what a page would wait for ends with the tests
globalThis.window = new Target();
globalThis.HTMLElement = Element;
globalThis.Element = Element;
globalThis.Node = Node;
const isA = (kind) => Object.defineProperty(() => {}, Symbol.hasInstance, { value: (element) => element instanceof Element && element.localName === kind });
for (const kind of ["Input", "TextArea", "Select", "Details", "Form", "Button", "Dialog"]) globalThis[`HTML${kind}Element`] = isA(kind.toLowerCase());
globalThis.CSS = { escape: (text) => text.replace(/[^\w-]/g, "\\$&") };
globalThis.ResizeObserver = globalThis.MutationObserver = class {
  observe() {}
  disconnect() {}
};
globalThis.requestAnimationFrame = (run) => setImmediate(run);
globalThis.getSelection = () => "";
globalThis.getComputedStyle = () => ({ lineHeight: "20px" });
globalThis.location = { href: "https://heddle.test/trees/t", assign() {} };
globalThis.customElements = {
  define(name, Kind) {
    names.set(Kind, name);
    defined.set(name, Kind);
  },
  get: (name) => defined.get(name),
};
freshPage();
// The elements of the last test leave, and with them what they wait for.
after(() => freshPage());
