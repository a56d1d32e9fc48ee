"use strict";

const byId = (id) => document.getElementById(id);
const SHOWN = 5; // probabilities of labels
const LEAST = 0.1; // score of an answer behind the best
const TYPED = 40; // names that are sent to be typed together
const CHARACTERS = 200_000; // of their texts
const BETWEEN = "Semicolons between kinds leave commas to descriptions.";
const BY_TAGS = "tagging"; // which finds names as "ner" does
// `text` is the one that the names were found in; the user may have typed on.
const state = { models: {}, text: "", spans: [], types: [], chosen: [], asked: false };
let waiting = null; // the request for names that the next key makes useless

async function ask(place, request, signal) {
  const body = JSON.stringify(request);
  const headers = { "Content-Type": "application/json" };
  const reply = await fetch(place, { method: "POST", headers, body, signal }).catch(gone);
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.fault);
  return answer;
}

async function predict(request, signal) {
  const answer = await ask("/predict", request, signal);
  return answer.prediction ?? answer.predictions;
}

async function namesOf(text, model, signal) {
  if (!text.trim()) return [];
  const found = await predict({ text, model }, signal);
  return found.spans ?? found; // by tags, there are those too
}

function gone(fault) {
  if (fault.name === "AbortError") throw fault;
  throw new Error("No answer: luke-jax try no longer runs. Start it again.");
}

function say(message, fault = false) {
  byId("status").textContent = message;
  byId("status").classList.toggle("fault", fault);
}

function reported(fault) {
  if (fault.name === "AbortError") return;
  say(fault.message, true);
}

// Offsets from Python count characters; those of a string here count UTF-16 units.
function units(text) {
  const places = [0];
  for (const character of text) places.push(places.at(-1) + character.length);
  return places;
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function textOf() {
  return byId("text").value;
}

function modelOf(task) {
  const select = byId(`${task}-model`);
  const models = state.models[task] ?? [];
  return models.find((model) => model.name === select?.value) ?? models[0];
}

function chosenModel(task) {
  return modelOf(task)?.name;
}

function tag(found) {
  const made = element("small", { textContent: found.label });
  made.style.setProperty("--hue", found.hue);
  return made;
}

function drawNames(target, text, spans, choose) {
  const places = units(text);
  const parts = [];
  let done = 0;
  spans.forEach((span, number) => {
    if (places[span.start] < done) return;
    parts.push(text.slice(done, places[span.start]));
    done = places[span.end];
    const name = element(choose ? "button" : "span", { className: "name" });
    name.append(text.slice(places[span.start], done));
    if (span.label) name.append(" ", tag(span));
    if (choose && state.types[number]) name.append(" ", tag(state.types[number]));
    name.style.setProperty("--hue", span.hue);
    if (choose) {
      name.type = "button";
      name.setAttribute("aria-pressed", String(state.chosen.includes(number)));
      name.addEventListener("click", () => choose(number));
    }
    parts.push(name);
  });
  parts.push(text.slice(done));
  target.replaceChildren(...parts);
}

async function readText() {
  waiting?.abort();
  waiting = new AbortController();
  const text = textOf();
  state.chosen = [];
  byId("answers").replaceChildren();
  byId("chosen").replaceChildren();
  writeCode();
  try {
    if (state.models.linking) await readLinks(text, waiting.signal);
    await readKinds(text, waiting.signal);
    await readLabels(text, waiting.signal);
    if (!state.models.ner) return nameless(text);
    const begun = performance.now();
    const spans = await namesOf(text, chosenModel("ner"), waiting.signal);
    [state.text, state.spans, state.types, state.chosen] = [text, spans, [], []];
    drawNames(byId("names"), text, spans, choose);
    const seconds = ((performance.now() - begun) / 1000).toFixed(2);
    const some = spans.length === 1 ? "1 name" : `${spans.length} names`;
    say(text.trim() ? `${some} in ${seconds} s` : "Nothing to read yet.");
    const other = byId("ner-other")?.value;
    byId("other").hidden = !other;
    if (other) {
      const second = await namesOf(text, other, waiting.signal);
      byId("other-title").textContent = other;
      drawNames(byId("other-names"), text, second, null);
    }
    await readFacts(text, waiting.signal);
    await readTypes(text, waiting.signal);
  } catch (fault) {
    reported(fault);
  }
}

// Dates are names too: years, and days of a year that are written out.
const DATES = /(?<![\w.,-])(?:\d{1,2} [A-Z][a-z]+ |[A-Z][a-z]+ \d{1,2}, )?(?:1\d|20)\d\d(?![\w-]|[.,]\d)/g;

function withDates(text) {
  const places = units(text);
  const names = state.spans.map(({ start, end, label }) => [start, end, label]);
  for (const found of text.matchAll(DATES)) {
    const [start, end] = [found.index, found.index + found[0].length].map((x) => places.indexOf(x));
    if (!names.some(([first, last]) => start < last && first < end)) names.push([start, end, "TIME"]);
  }
  return names;
}

async function readFacts(text, signal) {
  if (!state.models.facts) return;
  const { sure, name: model } = modelOf("facts");
  const found = text.trim() ? await predict({ text, names: withDates(text), model }, signal) : [];
  const kept = found.filter(({ score }) => score >= (sure ?? 0.5));
  const table = element("table");
  for (const { head, tail, label, score } of kept) table.append(row(head.text, label, tail.text, score));
  byId("facts").replaceChildren(...(kept.length ? [table] : []));
  const less = found.length - kept.length;
  const none = kept.length ? "" : "No fact that the model is sure of.";
  const out = less ? `${less} less sure ${less === 1 ? "one is" : "ones are"} left out.` : "";
  byId("facts-note").textContent = `${none} ${out}`.trim();
}

// Without a model that finds names they are those that the user marks.
function nameless(text) {
  [state.text, state.spans, state.types, state.chosen] = [text, [], [], []];
  byId("names").replaceChildren();
  byId("facts").replaceChildren();
  say("");
}

function mark() {
  const text = textOf();
  let { selectionStart: first, selectionEnd: last } = byId("text");
  while (first < last && !text[first].trim()) first++;
  while (first < last && !text[last - 1].trim()) last--;
  if (first === last) return say("Select words of the text first.", true);
  if (state.text !== text) return; // names are on their way
  const places = units(text);
  const marked = { start: places.indexOf(first), end: places.indexOf(last), label: "", hue: 215 };
  marked.text = text.slice(first, last);
  const chosen = state.chosen.map((number) => state.spans[number]);
  const apart = (span) => span.end <= marked.start || span.start >= marked.end;
  state.spans = [...state.spans.filter(apart), marked].sort((a, b) => a.start - b.start);
  state.types = [];
  state.chosen = chosen.filter(apart).map((span) => state.spans.indexOf(span));
  say("");
  choose(state.spans.indexOf(marked));
}

async function readLabels(text, signal) {
  if (!state.models.classification) return;
  const pair = byId("pair").value;
  const request = { text, model: chosenModel("classification"), ...(pair && { text_pair: pair }) };
  const found = text.trim() ? await predict(request, signal) : null;
  byId("labels").replaceChildren(...(found ? labelled(found) : []));
}

function labelled(found) {
  if (found.value !== undefined) return [element("p", { textContent: found.value.toFixed(3) })];
  const names = found.labels.map(({ label }) => label).join(", ") || "no label";
  const table = element("table");
  const scores = Object.entries(found.scores).sort(([, one], [, other]) => other - one);
  for (const [label, score] of scores.slice(0, SHOWN)) table.append(row(label, score));
  return [element("p", { textContent: names }), table];
}

function kinds() {
  const text = byId("kinds").value;
  return text.split(text.includes(";") ? ";" : ",").map((kind) => kind.trim()).filter(Boolean);
}

// A comma after a colon may be meant as a part of a description.
const unclear = () => /^[^;]*:[^;]*,[^;:]*$/.test(byId("kinds").value);

async function readKinds(text, signal) {
  if (!state.models.labels) return;
  const labels = kinds();
  const note = byId("kinds-note");
  try {
    const request = { text, labels, model: chosenModel("labels") };
    const found = text.trim() && labels.length ? await predict(request, signal) : [];
    drawNames(byId("kind-names"), text, found, null);
    const some = labels.length ? (found.length ? "" : "No name of these kinds.") : "Type a kind.";
    note.textContent = `${some} ${unclear() ? BETWEEN : ""}`.trim();
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    note.textContent = fault.message; // of the kinds: names below are read all the same
  }
}

async function readLinks(text, signal) {
  const links = text.trim() ? await predict({ text, model: chosenModel("linking") }, signal) : [];
  for (const link of links) link.label = link.title ?? "none";
  drawNames(byId("links"), text, links, null);
  const table = element("table");
  for (const link of links) {
    const others = link.others.map(({ title, score }) => `${title} ${score.toFixed(2)}`);
    const item = link.item ? ` (www.wikidata.org/wiki/${link.item})` : "";
    const rest = others.length ? `; or ${others.join(", ")}` : "";
    table.append(row(`${link.text}: ${link.title}${item}${rest}`, link.score));
  }
  byId("entities").replaceChildren(links.length ? table : "No name that it knows.");
}

// Names are shown first: their types take as long again.
async function readTypes(text, signal) {
  if (!state.models.typing || !state.spans.length) return;
  const together = Math.max(1, Math.min(TYPED, Math.floor(CHARACTERS / text.length)));
  for (let first = 0; first < state.spans.length; first += together) {
    const numbers = [...state.spans.keys()].slice(first, first + together);
    const types = await typesOf(text, numbers, signal);
    const buttons = byId("names").querySelectorAll("button");
    types.forEach(([type], i) => {
      if (!type) return;
      state.types[numbers[i]] = type;
      buttons[numbers[i]]?.append(" ", tag(type));
    });
  }
}

async function choose(number) {
  const text = state.text;
  if (textOf() !== text) return; // other names are on their way
  const at = state.chosen.indexOf(number);
  if (at >= 0) state.chosen.splice(at, 1);
  else state.chosen = [...state.chosen.slice(-1), number];
  drawNames(byId("names"), text, state.spans, choose);
  const buttons = byId("names").querySelectorAll("button");
  buttons[number]?.focus();
  writeCode();
  const chosen = [...state.chosen];
  state.chosen = chosen;
  try {
    const shown = await Promise.all([tableOf(text, chosen), relationOf(text, chosen)]);
    // Another name may have been chosen meanwhile.
    if (state.chosen === chosen) byId("chosen").replaceChildren(...shown.filter(Boolean));
  } catch (fault) {
    reported(fault);
  }
}

const span = (number) => [state.spans[number].start, state.spans[number].end];

function row(...cells) {
  const made = element("tr");
  cells.forEach((cell, i) => {
    const number = typeof cell === "number";
    const shown = number ? cell.toFixed(2) : cell;
    made.append(element(i ? "td" : "th", { textContent: shown, className: number ? "number" : "" }));
  });
  return made;
}

async function typesOf(text, numbers, signal) {
  const texts = numbers.map(() => text);
  const request = { text: texts, span: numbers.map(span), model: chosenModel("typing") };
  return (await predict(request, signal)).map((types) => types.spans);
}

async function tableOf(text, chosen) {
  if (!state.models.typing || !chosen.length) return null;
  const names = chosen.map((number) => state.spans[number].text);
  const types = await typesOf(text, chosen);
  const table = element("table");
  types.forEach((found, i) => {
    const name = names[i];
    if (!found.length) table.append(row(name, "no type"));
    for (const type of found.slice(0, 3)) table.append(row(name, type.label, type.score));
  });
  return table;
}

async function relationOf(text, chosen) {
  if (!state.models.relations || chosen.length < 2) return null;
  const [head, tail] = chosen.map(span);
  const [one, other] = chosen.map((number) => state.spans[number].text);
  const { negative, labels, sure, name: model } = modelOf("relations");
  const found = await predict({ text, head, tail, model });
  const known = labels.filter((label) => label !== negative).join(", ");
  const none = `${one}, ${other}: none of the relations that the model knows: ${known}`;
  const unsure = `${one}, ${other}: none that the model is sure of. It knows ${known}`;
  const related = `${one} — ${found.label} → ${other} (${found.score.toFixed(2)})`;
  const line = found.label === negative ? none : found.score < sure ? unsure : related;
  return element("p", { textContent: line, id: "relation" });
}

async function showAnswers(event) {
  event.preventDefault();
  state.asked = true;
  writeCode();
  const question = byId("question").value;
  if (!question.trim()) return byId("answers").replaceChildren("Ask something first.");
  const { name: model, sure } = modelOf("qa");
  await showTable(byId("answers"), { question, model }, sure);
}

async function showFilled(event) {
  event.preventDefault();
  writeCode();
  const entities = state.spans.map((_, number) => span(number));
  if (!entities.length) return byId("filled").replaceChildren("Mark names of the text first.");
  await showTable(byId("filled"), { query: byId("query").value, entities, model: chosenModel("cloze") });
}

async function showTable(place, asked, sure = null) {
  try {
    const text = textOf();
    const answers = text.trim() ? await predict({ text, ...asked }) : [];
    const table = element("table");
    const [best] = answers;
    if (best?.text && best.score < sure) {
      const left = `Left out: “${best.text}”, of score ${best.score.toFixed(2)}`;
      const shown = `answers are shown from ${sure.toFixed(2)} on, of which nine in ten of dev are right.`;
      return place.replaceChildren(`No answer that the model is sure of. ${left}; ${shown}`);
    }
    // Behind the best answer, which may be that there is none, only what may be right as well.
    const shown = answers.filter((found, i) => !i || (best.text && found.score >= LEAST));
    for (const { text, score } of shown.slice(0, 3)) table.append(row(text || "no answer", score));
    place.replaceChildren(answers.length ? table : "No answer: the text is empty.");
  } catch (fault) {
    reported(fault);
  }
}

function literal(text) {
  return JSON.stringify(text);
}

function writeCode() {
  const lines = ["import luke_jax", "", `text = ${literal(textOf())}`];
  const load = (name, task) => lines.push(`${name} = luke_jax.load(${literal(chosenModel(task))})`);
  if (state.models.ner) {
    load("names", "ner");
    lines.push("print(names.predict(text))");
  }
  if (state.models.labels) {
    load("kinds", "labels");
    lines.push(`print(kinds.predict(text, labels=${JSON.stringify(kinds())}))`);
  }
  if (state.models.linking) {
    load("links", "linking");
    lines.push("print(links.predict(text))");
  }
  if (state.models.classification) {
    load("labels", "classification");
    const pair = byId("pair").value;
    lines.push(`print(labels.predict(text${pair && `, text_pair=${literal(pair)}`}))`);
  }
  if (state.models.cloze && state.spans.length) {
    load("gap", "cloze");
    const entities = JSON.stringify(state.spans.map((_, number) => span(number)));
    lines.push(`print(gap.predict(text, query=${literal(byId("query").value)}, entities=${entities}))`);
  }
  const [head, tail] = state.chosen.map((number) => JSON.stringify(span(number)));
  if (head && state.models.typing) {
    load("types", "typing");
    lines.push(`print(types.predict(text, span=${head}))`);
  }
  if (state.models.facts && state.spans.length) {
    load("facts", "facts");
    lines.push(`print(facts.predict(text, names=${JSON.stringify(withDates(textOf()))}))`);
  }
  if (tail && state.models.relations) {
    load("relations", "relations");
    lines.push(`print(relations.predict(text, head=${head}, tail=${tail}))`);
  }
  if (state.asked && state.models.qa) {
    load("answers", "qa");
    lines.push(`print(answers.predict(text, question=${literal(byId("question").value)}))`);
  }
  byId("code").textContent = lines.join("\n");
}

async function copyCode() {
  try {
    await navigator.clipboard.writeText(byId("code").textContent);
    byId("copied").textContent = "copied";
  } catch {
    getSelection().selectAllChildren(byId("code"));
    byId("copied").textContent = "selected: press Ctrl+C";
  }
}

function options(select, values) {
  select.replaceChildren(...values.map(([value, shown]) => new Option(shown, value)));
}

function modelChoice(id, label, values, changed) {
  const select = element("select", { id });
  options(select, values);
  select.addEventListener("change", changed);
  return element("label", {}, `${label} `, select);
}

function setUp({ models: all }) {
  for (const model of all) {
    const task = model.task === BY_TAGS ? "ner" : model.task;
    (state.models[task] ??= []).push(model);
  }
  const named = (task) => (state.models[task] ?? []).map((model) => [model.name, model.name]);
  if (named("ner").length > 1) {
    byId("ner-choices").append(
      modelChoice("ner-model", "Model", named("ner"), readText),
      modelChoice("ner-other", "beside", [["", "none"], ...named("ner")], readText),
    );
  }
  const unfitted = all.filter((model) => model.fitted === false).map((model) => model.name);
  byId("unfitted").hidden = !unfitted.length;
  const asComputed = "are as computed: .95 need not be right 95 times in a hundred.";
  byId("unfitted").textContent = `Scores of ${unfitted.join(", ")} ${asComputed}`;
  byId("kinds-section").hidden = !state.models.labels;
  const learnt = state.models.labels?.[0].labels ?? [];
  if (learnt.length) byId("kinds").value = learnt.join(", ");
  byId("links-section").hidden = !state.models.linking;
  const marking = state.models.typing || state.models.relations || state.models.cloze;
  byId("mark-help").hidden = !marking;
  byId("names-section").hidden = !state.models.ner && !marking;
  byId("facts-section").hidden = !(state.models.facts && state.models.ner);
  byId("labels-section").hidden = !state.models.classification;
  byId("gap-section").hidden = !state.models.cloze;
  byId("question-section").hidden = !state.models.qa;
  byId("types-help").hidden = !state.models.typing;
  byId("relation-help").hidden = !state.models.relations;
  options(byId("attention-model"), all.map((model) => [model.name, model.name]));
  const sizes = () => {
    const model = all.find((one) => one.name === byId("attention-model").value);
    const numbers = (count) => [...Array(count).keys()].map((i) => [String(i), String(i)]);
    options(byId("layer"), numbers(model.layers));
    byId("layer").value = String(model.layers - 1);
    options(byId("head"), [["mean", "mean"], ...numbers(model.heads)]);
    options(byId("kind"), [["", "all"], ...model.queries.map((kind) => [kind, kind])]);
  };
  byId("attention-model").addEventListener("change", sizes);
  for (const id of ["layer", "head", "kind"]) byId(id).addEventListener("change", showAttention);
  sizes();
}

async function begin() {
  try {
    setUp(await (await fetch("/models").catch(gone)).json());
  } catch (fault) {
    return reported(fault);
  }
  let timer = 0;
  for (const id of ["text", "kinds", "pair"]) {
    byId(id).addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(readText, 120);
    });
  }
  byId("mark").addEventListener("click", mark);
  byId("ask").addEventListener("submit", showAnswers);
  byId("fill").addEventListener("submit", showFilled);
  byId("show-attention").addEventListener("click", showAttention);
  byId("copy").addEventListener("click", copyCode);
  await readText();
}

begin();
