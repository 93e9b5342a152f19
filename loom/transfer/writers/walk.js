// Shows one path of the page at a time. Without it every text is shown, one after the other.
(() => {
  "use strict";
  const texts = [...document.querySelectorAll("main > article")];
  const byId = new Map(texts.map((text) => [text.id, text]));
  const below = new Map();
  for (const text of texts) {
    const above = text.dataset.above || "";
    if (!below.has(above)) below.set(above, []);
    below.get(above).push(text);
  }
  const chosen = new Map();
  let shown = new Set(texts);
  let current = null;

  const siblings = (text) => below.get(text.dataset.above || "") || [];

  function path(to) {
    const found = [];
    for (let text = to; text; text = byId.get(text.dataset.above || "")) {
      found.push(text);
      chosen.set(text.dataset.above || "", text);
    }
    found.reverse();
    for (let text = to; below.has(text.id); found.push(text)) {
      text = chosen.get(text.id) || below.get(text.id)[0];
    }
    return found;
  }

  // `isNew`: nobody asked for this text yet, and the page stays at its beginning.
  function show(to, focus, isNew) {
    const wanted = new Set(path(to));
    for (const text of shown) if (!wanted.has(text)) text.hidden = true;
    for (const text of wanted) {
      text.hidden = false;
      offer(text);
    }
    shown = wanted;
    if (current) current.classList.remove("current");
    current = to;
    to.classList.add("current");
    if (!isNew) history.replaceState(null, "", "#" + to.id);
    if (focus) {
      to.scrollIntoView({ block: "nearest" });
      const button = to.querySelector(`.ways [data-by="${focus}"]`);
      if (button) button.focus({ preventScroll: true });
    }
  }

  function offer(text) {
    const ways = siblings(text);
    if (ways.length < 2 || text.querySelector(".ways button")) return;
    const place = ways.indexOf(text);
    const nav = text.querySelector(".ways");
    const count = document.createElement("span");
    count.textContent = `${place + 1} of ${ways.length}`;
    nav.replaceChildren(
      button("‹", "Previous alternative", -1),
      count,
      button("›", "Next alternative", 1),
    );
    nav.addEventListener("click", (event) => {
      const pressed = event.target.closest("button");
      if (pressed) turn(text, Number(pressed.dataset.by));
    });
  }

  function button(sign, label, by) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = sign;
    made.dataset.by = String(by);
    made.setAttribute("aria-label", label);
    return made;
  }

  function turn(text, by) {
    const ways = siblings(text);
    if (ways.length < 2) return;
    const next = ways[(ways.indexOf(text) + by + ways.length) % ways.length];
    show(next, String(by));
    document.getElementById("said").textContent = `${ways.indexOf(next) + 1} of ${ways.length}`;
  }

  function fork(by) {
    const path = [...shown];
    const at = path.indexOf(current);
    const ahead = by > 0 ? path.slice(at + 1) : path.slice(0, Math.max(at, 0)).reverse();
    const next = ahead.find((text) => siblings(text).length > 1);
    if (next) show(next, "1");
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key;
    if (key === "ArrowLeft" && current) turn(current, -1);
    else if (key === "ArrowRight" && current) turn(current, 1);
    else if (key === "n") fork(1);
    else if (key === "p") fork(-1);
    else return;
    event.preventDefault();
  });
  function named() {
    return byId.get(location.hash.slice(1));
  }

  addEventListener("hashchange", () => {
    const text = named();
    if (text) show(text, "");
  });
  const start = named() || byId.get(document.body.dataset.here) || texts[0];
  if (start) show(start, "", start !== named());
  document.getElementById("help").hidden = !texts.some((text) => siblings(text).length > 1);
})();
