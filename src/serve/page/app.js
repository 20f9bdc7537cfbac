"use strict";
// Translates what is typed a moment after the last key. One request is under way at a time
// and an older one is given up, so that the server does no work that nobody will read.
// Words of the translation show where they come from, and what could stand in their place.
const $ = (id) => document.getElementById(id);
const PAUSE_MS = 300, ALTERNATIVES = 4;
let languages = [], limit = -1, most = 0, timer = 0, running = null;
let shown = { text: "", source: "", target: "", translation: "", links: [] }, words = [], picked = -1;

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

// [begin, end] of the parts of a text: words, or sentences without the white space behind them.
function parts(text, language, granularity) {
  let cut;
  try { cut = new Intl.Segmenter(language, { granularity }); } catch { // an old browser, or no language of its
    return [...text.matchAll(granularity === "word" ? /[\p{L}\p{N}]+/gu : /.+/gsu)].map((m) => [m.index, m.index + m[0].length]);
  }
  return [...cut.segment(text)].filter((s) => granularity !== "word" || s.isWordLike)
    .map((s) => [s.index, s.index + s.segment.trimEnd().length]);
}

// The server counts characters, strings here count units of 16 bits.
function unitsOf(text) {
  const at = [0];
  for (const c of text) at.push(at[at.length - 1] + c.length);
  return at;
}

function linksOf(answer, text) {
  const from = unitsOf(text), to = unitsOf(answer.text);
  return (answer.links || []).map(([a, b, c, d]) => [from[a], from[b], to[c], to[d]]);
}

function draw() {
  const text = shown.translation, pieces = [];
  let end = 0;
  words = parts(text, shown.target, "word");
  words.forEach(([from, to], i) => {
    const word = document.createElement("span");
    word.className = "word";
    word.dataset.i = i;
    word.textContent = text.slice(from, to);
    pieces.push(text.slice(end, from), word);
    end = to;
  });
  $("result").replaceChildren(...pieces, text.slice(end));
  pick(-1);
}

// What of the source belongs to word i is marked under the text.
function pick(i) {
  const text = $("text").value, word = words[i] || [0, 0], pieces = [];
  let end = 0;
  picked = i;
  for (const span of $("result").querySelectorAll(".word")) span.classList.toggle("picked", Number(span.dataset.i) === i);
  const from = shown.links.filter((l) => l[2] < word[1] && l[3] > word[0]).map((l) => [l[0], l[1]])
    .sort((a, b) => a[0] - b[0]);
  for (const [a, b] of text === shown.text ? from : []) {
    if (a < end) continue;
    const mark = document.createElement("mark");
    mark.textContent = text.slice(a, b);
    pieces.push(text.slice(end, a), mark);
    end = b;
  }
  $("marks").replaceChildren(...pieces, pieces.length ? text.slice(end) : "");
  under();
}

// The marks lie where the text does, whatever its size and place.
function under() {
  $("marks").style.width = `${$("text").clientWidth + 2}px`;
  $("marks").scrollTop = $("text").scrollTop;
}

function tell() {
  const marks = [...$("marks").querySelectorAll("mark")].map((m) => m.textContent);
  const [from, to] = words[picked];
  say(`${shown.translation.slice(from, to)}${marks.length ? `: ${marks.join(" ")}` : ""}`);
}

// Texts in whose place `replace` puts one of them.
function offer(label, texts, replace) {
  $("others").hidden = texts.length === 0;
  $("others-label").textContent = label;
  $("alternatives").replaceChildren(...texts.map((text) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", () => replace(text));
    item.append(button);
    return item;
  }));
}

function show(answer) {
  const first = answer.translations[0];
  shown = { text: $("text").value, source: first.source, target: $("target").value, translation: first.text,
    links: linksOf(first, $("text").value) };
  draw();
  offer("Other translations", first.alternatives || [],
    (text) => put([0, shown.text.length], [0, shown.translation.length], text));
  const name = (languages.find((l) => l.code === first.source) || { name: first.source }).name;
  say("confidence" in first ? `Detected: ${name}` : "");
}

async function ask(values) {
  const mine = running = new AbortController();
  const headers = { "Content-Type": "application/json" };
  if ($("key").value) headers.Authorization = `Bearer ${$("key").value}`;
  try {
    const response = await fetch("v1/translate", { method: "POST", headers, signal: mine.signal,
      body: JSON.stringify(values) });
    const answer = await response.json();
    if (response.ok) return answer;
    say(answer.error);
  } catch (error) {
    if (error.name !== "AbortError") say("The server does not answer.");
  } finally {
    if (running === mine) running = null;
  }
  return null;
}

async function translate() {
  const text = $("text").value;
  if (running) running.abort();
  if (!text.trim()) { show({ translations: [{ text: "" }] }); return; }
  const answer = await ask({ text, source: $("source").value, target: $("target").value, links: true,
    alternatives: text.includes("\n") ? 0 : Math.min(most, 2) });
  if (answer && text === $("text").value) show(answer);
}

// Where the sentence of a word stands in text and translation: its line, or a part of that
// where both have as many.
function sentenceOf(at) {
  const line = shown.translation.slice(0, at).split("\n").length - 1;
  const range = (text) => {
    const lines = text.split("\n"), from = lines.slice(0, line).join("\n").length + (line > 0);
    return [from, from + lines[line].length];
  };
  const source = range(shown.text), target = range(shown.translation);
  const from = parts(shown.text.slice(...source), shown.source, "sentence");
  const to = parts(shown.translation.slice(...target), shown.target, "sentence");
  const i = to.findIndex((s) => at < target[0] + s[1]);
  if (from.length !== to.length || i < 0) return [source, target];
  return [from[i].map((x) => x + source[0]), to[i].map((x) => x + target[0])];
}

async function others(i) {
  const [from, to] = words[i], [source, target] = sentenceOf(from), now = shown;
  if (running) running.abort();
  const answer = await ask({ text: now.text.slice(...source), source: now.source, target: now.target,
    beginning: now.translation.slice(target[0], from) || " ", alternatives: Math.min(most, ALTERNATIVES) });
  if (!answer || now !== shown) return;
  const first = answer.translations[0], old = now.translation.slice(...target);
  const texts = [first.text, ...first.alternatives].filter((text) => text.trim() !== old.trim());
  offer(`Instead of ${now.translation.slice(from, to)}`, texts, (text) => put(source, target, text));
  if (!texts.length) say("There are no others.");
}

// A sentence becomes another one; where its words come from is asked for.
async function put(source, target, text) {
  const part = shown.text.slice(...source), old = shown.translation, more = text.length - (target[1] - target[0]);
  const rest = shown.links.filter((l) => l[3] <= target[0] || l[2] >= target[1])
    .map((l) => (l[2] < target[1] ? l : [l[0], l[1], l[2] + more, l[3] + more]));
  const now = shown = { ...shown, links: rest, translation: old.slice(0, target[0]) + text + old.slice(target[1]) };
  draw();
  offer("", [], null);
  $("result").focus();
  if (part.includes("\n")) return;
  const answer = await ask({ text: part, source: now.source, target: now.target, beginning: text, links: true });
  if (!answer || now !== shown || answer.translations[0].text !== text) return;
  now.links.push(...linksOf(answer.translations[0], part)
    .map(([a, b, c, d]) => [a + source[0], b + source[0], c + target[0], d + target[0]]));
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
  $("text").value = shown.translation;
  soon();
}

async function begin() {
  const settings = await (await fetch("frontend/settings")).json();
  languages = await (await fetch("languages")).json();
  limit = settings.charLimit;
  most = (await (await fetch("v1/openapi.json")).json()).paths["/v1/translate"].post.requestBody
    .content["application/json"].schema.properties.alternatives.maximum;
  $("key-row").hidden = !settings.apiKeys;
  $("key-row").open = settings.keyRequired;
  fill($("source"), ["auto", ...languages.filter((l) => l.targets.length > 1).map((l) => l.code)], "auto");
  fillTargets(settings.language.target.code);
  soon();
}

const wordAt = (event) => Number((event.target.dataset || {}).i ?? -1);
$("result").addEventListener("mouseover", (event) => pick(wordAt(event)));
$("result").addEventListener("mouseleave", () => pick(-1));
$("result").addEventListener("blur", () => pick(-1));
$("result").addEventListener("click", (event) => { if (wordAt(event) >= 0) others(wordAt(event)); });
$("result").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step && words.length) {
    pick(Math.min(Math.max(picked + step, 0), words.length - 1));
    tell();
  } else if (event.key === "Enter" && picked >= 0) others(picked);
  else return;
  event.preventDefault();
});
$("text").addEventListener("scroll", under);
window.addEventListener("resize", under);
$("form").addEventListener("submit", (event) => event.preventDefault());
$("text").addEventListener("input", soon);
$("key").addEventListener("change", soon);
$("target").addEventListener("change", translate);
$("source").addEventListener("change", () => { fillTargets($("target").value); translate(); });
$("swap").addEventListener("click", swap);
$("copy").addEventListener("click", () =>
  navigator.clipboard.writeText(shown.translation).then(() => say("Copied."), () => say("Could not copy.")));
begin().catch(() => say("The server does not answer."));
