import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, settled, treePage } from "../testing/dom.js";
import { LoomSamplers } from "./loom-samplers.js";

customElements.define("loom-samplers", LoomSamplers);

const FIELDS = ["top_p", "top_k", "seed"].map((name) => `<label>${name} <input data-sampler="${name}"></label>`).join("");
const FORM = `<form><input name="temperature"><input name="tokens"><p data-samplers="top_p seed"><input type="checkbox" name="using" value="Muse" checked></p>
<loom-samplers><details></details>${FIELDS}<select data-preset><option value=""></option></select><input data-name><input type="checkbox" data-shared><input data-json><input data-settings><span data-shown></span><p data-said></p><p data-pins></p></loom-samplers></form>`;

async function samplers(reply = () => ({ pins: [], results: [] })) {
  const { body } = freshPage("", reply);
  const page = treePage();
  const holder = document.createElement("div");
  holder.innerHTML = FORM;
  body.append(holder);
  const element = body.querySelector("loom-samplers");
  for (let turn = 0; turn < 4; turn += 1) await settled();
  return { page, element };
}

test("only what a chosen model takes is shown and sent", async () => {
  const { element } = await samplers();
  assert.deepEqual(element.fields.map((field) => field.parentElement.hidden), [false, true, false]);
  for (const field of element.fields) field.value = "1";
  element.fit();
  assert.deepEqual(element.values, { top_p: 1, seed: 1 });
  assert.equal(element.box("shown").textContent, "Samplers (2)");
});

test("the fields and the JSON say the same, and what is no object changes nothing", async () => {
  const { element } = await samplers();
  element.parse('{"top_p": 0.9}');
  assert.equal(element.fields[0].value, "0.9");
  element.parse("[1]");
  assert.equal(element.box("said").textContent, "This is not a JSON object.");
  assert.equal(element.fields[0].value, "0.9");
});

test("what was set is set again when the page is opened", async () => {
  const { element } = await samplers();
  element.parse('{"seed": 7}');
  assert.equal(localStorage.getItem("heddle.samplers.t"), '{"seed":7}');
});

test("an older answer about what is pinned does not take the place of a newer one", async () => {
  const { element } = await samplers();
  const [older, newer] = [held(), held()];
  const answers = [older, newer];
  globalThis.fetch = async () => new Response(JSON.stringify(await answers.shift().promise));
  const reads = [element.showPins(), element.showPins()];
  newer.give({ pins: [{ node: "n1", settings: { seed: 7 } }] });
  await reads[1];
  older.give({ pins: [] });
  await reads[0];
  assert.equal(element.box("pins").textContent, "Pinned on this path: [n1] seed 7");
});

test("a preset is saved with the length and the temperature, and chosen", async () => {
  const sent = [];
  const { element } = await samplers((_, { method, body }) => {
    if (method !== "POST") return { pins: [], results: [{ id: "p1", name: "Calm", body: {}, shared: true }] };
    sent.push(body);
    return { id: "p1", name: "Calm" };
  });
  element.form.elements.namedItem("tokens").value = "60";
  element.box("name").value = "Calm";
  element.parse('{"top_p": 0.9}');
  await element.save();
  assert.deepEqual(sent, [{ kind: "preset", name: "Calm", body: { top_p: 0.9, tokens: 60 }, shared: false }]);
  assert.equal(element.box("preset").value, "p1");
  assert.equal(element.box("preset").options[1].textContent, "Calm (everybody)");
});

test("a refusal is said beside the fields", async () => {
  const { element } = await samplers();
  globalThis.fetch = async () => new Response('{"message": "You are a reader."}', { status: 403 });
  await element.pin({ seed: 7 });
  assert.equal(element.box("said").textContent, "You are a reader.");
});
