"use strict";
// Translates what is typed a moment after the last key. One request is under way at a time
// and an older one is given up, so that the server does no work that nobody will read.
const $ = (id) => document.getElementById(id);
const PAUSE_MS = 300;
let languages = [], limit = -1, timer = 0, running = null;

function say(text) { $("status").textContent = text; }

function fill(select, codes, chosen) {
  select.replaceChildren(...codes.map((code) => {
    const known = languages.find((l) => l.code === code);
    return new Option(code === "auto" ? "Detect language" : known.name, code, false, code === chosen);
  }));
}

function fillTargets(chosen) {
  const source = languages.find((l) => l.code === $("source").value);
  const codes = source ? source.targets.filter((c) => c !== source.code)
    : [...new Set(languages.flatMap((l) => l.targets.filter((c) => c !== l.code)))].sort();
  fill($("target"), codes, codes.includes(chosen) ? chosen : codes[0]);
}

function show(answer) {
  const first = answer.translations[0];
  const others = first.alternatives || [];
  $("result").textContent = first.text;
  $("others").hidden = others.length === 0;
  $("alternatives").replaceChildren(...others.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
  const name = (languages.find((l) => l.code === first.source) || { name: first.source }).name;
  say("confidence" in first ? `Detected: ${name}` : "");
}

async function translate() {
  const text = $("text").value;
  if (running) running.abort();
  if (!text.trim()) { show({ translations: [{ text: "" }] }); return; }
  const mine = running = new AbortController();
  const headers = { "Content-Type": "application/json" };
  if ($("key").value) headers.Authorization = `Bearer ${$("key").value}`;
  try {
    const response = await fetch("v1/translate", { method: "POST", headers, signal: mine.signal,
      body: JSON.stringify({ text, source: $("source").value, target: $("target").value,
        alternatives: text.includes("\n") ? 0 : 2 }) });
    const answer = await response.json();
    if (response.ok) show(answer); else say(answer.error);
  } catch (error) {
    if (error.name !== "AbortError") say("The server does not answer.");
  } finally {
    if (running === mine) running = null;
  }
}

function soon() {
  const n = [...$("text").value].length;
  $("count").textContent = limit > 0 ? `${n} of ${limit} characters` : `${n} characters`;
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE_MS);
}

function swap() {
  const source = $("source").value, target = $("target").value;
  if (source === "auto" || !languages.some((l) => l.code === target && l.targets.includes(source))) return;
  $("source").value = target;
  fillTargets(source);
  $("text").value = $("result").textContent;
  soon();
}

async function begin() {
  const settings = await (await fetch("frontend/settings")).json();
  languages = await (await fetch("languages")).json();
  limit = settings.charLimit;
  $("key-row").hidden = !settings.apiKeys;
  $("key-row").open = settings.keyRequired;
  fill($("source"), ["auto", ...languages.filter((l) => l.targets.length > 1).map((l) => l.code)], "auto");
  fillTargets(settings.language.target.code);
  soon();
}

$("form").addEventListener("submit", (event) => event.preventDefault());
$("text").addEventListener("input", soon);
$("key").addEventListener("change", soon);
$("target").addEventListener("change", translate);
$("source").addEventListener("change", () => { fillTargets($("target").value); translate(); });
$("swap").addEventListener("click", swap);
$("copy").addEventListener("click", () =>
  navigator.clipboard.writeText($("result").textContent).then(() => say("Copied."), () => say("Could not copy.")));
begin().catch(() => say("The server does not answer."));
