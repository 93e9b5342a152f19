import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { morphOne, parsed } from "./morph.js";

const card = (inside) => `<article class="node" id="n-a7x2" tabindex="-1">${inside}</article>`;
const fresh = (inside) => parsed(card(inside)).firstElementChild;

test("a text that has the focus is drawn again like any other, and keeps the focus", () => {
  freshPage(card("<header>Ada</header>"));
  const node = document.getElementById("n-a7x2");
  node.focus();
  morphOne(node, fresh('<header>Ada <span class="flag">excluded from models</span></header><div class="notes">Why?</div>'));
  assert.equal(node.querySelector(".flag").textContent, "excluded from models");
  assert.equal(node.querySelector(".notes").textContent, "Why?");
  assert.equal(document.activeElement, node);
});

test("a button that has the focus says what it does now", () => {
  freshPage(card('<button id="b" type="button" data-act="exclude">Exclude</button>'));
  const button = document.getElementById("b");
  button.focus();
  morphOne(document.getElementById("n-a7x2"), fresh('<button id="b" type="button" data-act="include">Include</button>'));
  assert.deepEqual([button.textContent, button.dataset.act], ["Include", "include"]);
  assert.equal(document.activeElement, button);
});

test("what is being typed into a field stays, while the text around it is drawn again", () => {
  freshPage(card('<header>Ada</header><textarea id="f">old</textarea>'));
  const field = document.getElementById("f");
  field.focus();
  field.value = "half a thought";
  morphOne(document.getElementById("n-a7x2"), fresh('<header>Ada and Wanda</header><textarea id="f">new</textarea>'));
  assert.equal(field.value, "half a thought");
  assert.equal(document.querySelector("header").textContent, "Ada and Wanda");
});

test("a note that goes while somebody answers it stays until they have done", () => {
  freshPage(card('<div class="notes" id="notes-a7x2"><div class="note" id="note-b1">Why?<form class="inline-form"><input id="f"></form></div></div>'));
  const field = document.getElementById("f");
  field.focus();
  morphOne(document.getElementById("n-a7x2"), fresh("<header>Ada</header>"));
  assert.equal(document.activeElement, field);
});
