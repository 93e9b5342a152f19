// The selectors that elements use, for the document of the units (dom.js): names, ids, classes,
// attributes, :not, :is, :has, :scope, and what is inside, directly inside or behind something.

const SIMPLE = /^(?:(\*|[\w-]+)|#([\w-]+)|\.([\w-]+)|\[([\w-]+)(?:([~^$*|]?=)(?:"([^"]*)"|'([^']*)'|([^\]]*)))?\]|:([\w-]+)(?=\())/;
const COMPARE = {
  "=": (value, wanted) => value === wanted,
  "^=": (value, wanted) => value.startsWith(wanted),
  "$=": (value, wanted) => value.endsWith(wanted),
  "*=": (value, wanted) => value.includes(wanted),
  "~=": (value, wanted) => value.split(/\s+/).includes(wanted),
};
const STATES = {
  hover: () => false,
  "focus-within": (element) => element.contains(globalThis.document.activeElement),
  scope: (element, scope) => element === scope,
  disabled: (element) => element.hasAttribute("disabled"),
  checked: (element) => Boolean(element.checked),
  "first-child": (element) => element.previousElementSibling === null,
  "last-child": (element) => element.nextElementSibling === null,
};

/** The text between the bracket that opens `text` and the one that closes it. */
function inBrackets(text) {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    depth += { "(": 1, ")": -1 }[text[at]] ?? 0;
    if (depth === 0) return text.slice(1, at);
  }
  throw new SyntaxError(`unclosed bracket in ${text}`);
}

/** Splits at a character that is in no bracket or quote. */
function split(text, isSeparator) {
  const pieces = [""];
  let depth = 0;
  let quote = "";
  for (const letter of text) {
    if (quote) quote = letter === quote ? "" : quote;
    else if (letter === '"' || letter === "'") quote = letter;
    else depth += { "(": 1, "[": 1, ")": -1, "]": -1 }[letter] ?? 0;
    if (!depth && !quote && isSeparator(letter)) pieces.push("");
    else pieces[pieces.length - 1] += letter;
  }
  return pieces.map((piece) => piece.trim()).filter(Boolean);
}

/** Whether an element is what one simple sequence such as `a.card:not([data-id])` says. */
function isCompound(element, compound, scope) {
  let rest = compound;
  while (rest) {
    const state = /^:([\w-]+)(?!\(|[\w-])/.exec(rest);
    if (state) {
      if (!STATES[state[1]]) throw new SyntaxError(`:${state[1]} is not known here`);
      if (!STATES[state[1]](element, scope)) return false;
      rest = rest.slice(state[0].length);
      continue;
    }
    const found = SIMPLE.exec(rest);
    if (!found) throw new SyntaxError(`cannot read ${rest}`);
    const [whole, tag, id, name, attribute, how, double, single, bare, pseudo] = found;
    rest = rest.slice(whole.length);
    if (pseudo) {
      const inner = inBrackets(rest);
      rest = rest.slice(inner.length + 2);
      const isTrue = pseudo === "has" ? element.querySelector(/^[>+~]/.test(inner) ? `:scope ${inner}` : inner) !== null : isMatch(element, inner, scope);
      if (isTrue === (pseudo === "not")) return false;
    } else if (tag && tag !== "*" && element.localName !== tag.toLowerCase()) return false;
    else if (id && element.id !== id) return false;
    else if (name && !element.classList.contains(name)) return false;
    else if (attribute) {
      const value = element.getAttribute(attribute);
      if (value === null || (how && !COMPARE[how](value, (double ?? single ?? bare).replace(/\\(.)/g, "$1")))) return false;
    }
  }
  return true;
}

/** Whether an element is at the end of a chain such as `ul > li + li a`. */
function isChain(element, steps, scope) {
  const [last, ...before] = [...steps].reverse();
  if (!isCompound(element, last, scope)) return false;
  if (!before.length) return true;
  const [how] = before;
  const rest = before.slice(/^[>+~]$/.test(how) ? 1 : 0).reverse();
  if (how === ">") return element.parentElement !== null && isChain(element.parentElement, rest, scope);
  if (how === "+") return element.previousElementSibling !== null && isChain(element.previousElementSibling, rest, scope);
  const next = how === "~" ? "previousElementSibling" : "parentElement";
  for (let other = element[next]; other; other = other[next]) if (isChain(other, rest, scope)) return true;
  return false;
}

/** Whether an element is what a list of selectors says. */
export function isMatch(element, selectors, scope = element) {
  return split(selectors, (letter) => letter === ",").some((selector) => isChain(element, split(selector.replace(/\s*([>+~])\s*(?![^[]*\])/g, " $1 "), (letter) => /\s/.test(letter)), scope));
}
