"use strict";
const $ = (id) => document.getElementById(id);
const GRADE_NAMES = ["not relevant", "marginal", "relevant", "highly relevant"];
const needsKey = document.body.dataset.needsKey === "yes";
// Read own properties only: an id can be "constructor" or "__proto__", which every object inherits.
const ownValue = (object, key) => (Object.hasOwn(object, key) ? object[key] : undefined);
const stored = {
  get: (name) => sessionStorage.getItem("review-" + name) ?? "",
  set: (name, value) => sessionStorage.setItem("review-" + name, value),
};
let view = null;        // the displayed query
let requested = 1;      // the number of the query to display next
let state = null;       // the saved answers for the displayed query
let progress = [];      // the progress of every query
let titles = [];        // the beginning of the text of every query
let about = null;       // the description of the review
const isPlan = () => about !== null && about.planned !== null;
const plural = (count, one, several) => `${count} ${count === 1 ? one : several}`;
let at = { column: 0, row: 0 };     // the position of the focused result
let saving = Promise.resolve();     // resolves when the last answer is saved
const waiting = new Set();          // documents with a grade that is not saved yet

class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || "Error " + status);
    this.status = status;
    this.code = problem.code;
  }
}

async function callApi(path, body, session = stored.get("session")) {
  const headers = { "X-Review-Session": session };
  if (stored.get("key")) headers.Authorization = "Bearer " + stored.get("key");
  const options = { headers, cache: "no-store", credentials: "omit" };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    options.method = "POST";
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch("api/" + path, options);
  } catch {
    throw new ApiError(0, { title: "The server does not answer. Is it still running?" });
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(answer.status, content);
  return content;
}

function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-")) element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}

const showStatus = (text) => { $("status").textContent = text; };

function showError(error) {
  if (!(error instanceof ApiError)) throw error;
  if (error.code === "no-session" || error.code === "unauthorised") {
    stored.set("session", "");
    showStart(error.message);
    return;
  }
  $("trouble").textContent = "Not saved: " + error.message;
}

/* Sessions */

function showStart(message = "") {
  $("work").hidden = true;
  $("start").hidden = false;
  $("known").hidden = true;
  $("form").hidden = false;
  $("key-field").hidden = !needsKey;
  $("key").required = needsKey;
  $("key").value = stored.get("key");
  $("refused").textContent = message;
  $("name").focus();
  showIntroduction();
}

async function showIntroduction() {
  if (needsKey && !stored.get("key")) return;
  try {
    about = await callApi("about");
    document.body.classList.toggle("plan", isPlan());
    $("start-title").textContent = isPlan() ? "Judge documents" : "Review results";
    const first = about.depth > 1 ? `the first ${about.depth} results` : "the first result";
    $("intro").textContent = !isPlan()
      ? `You will see ${about.queries} queries of ${about.dataset}, each with ${first} of ${about.columns} search methods, side by side.`
      : `You will see queries of ${about.dataset}, one after the other, each with documents that search methods found. ${plural(about.planned, "query is", "queries are")} planned.`;
    if (isPlan()) $("blind").textContent = "The page shows neither which search method found a document nor at which rank; the documents are in random order.";
    $("notes").textContent = about.notes.length ? "Texts are not available; the page shows ids." : "";
  } catch (error) {
    $("refused").textContent = error.message;
  }
}

async function startSession(resume) {
  $("refused").textContent = "";
  const name = $("name").value;
  if (needsKey) stored.set("key", $("key").value.trim());
  try {
    const answer = await callApi("session", { name, resume });
    if (answer.session) {
      stored.set("session", answer.session);
      $("known").hidden = true;
      await resumeWork();
    } else if (answer.exists) {
      $("known-text").textContent = `There are answers by “${answer.name}” for ${plural(answer.judged, "query", "queries")}. Are these yours?`;
      $("form").hidden = true;
      $("known").hidden = false;
      $("known-text").focus();
    } else {
      showStart("There are no answers under this name.");
    }
  } catch (error) {
    $("refused").textContent = error.message;
  }
}

async function resumeWork() {
  const found = await callApi("progress");
  progress = found.queries;
  titles = found.titles;
  stored.set("name", found.name);
  await showIntroduction();
  const wanted = Number(new URLSearchParams(location.hash.slice(1)).get("query"));
  const open = progress.findIndex((one) => !one.complete) + 1;
  const number = wanted >= 1 && wanted <= progress.length ? wanted : open || 1;
  await show(number);
}

function leave() {
  stored.set("session", "");
  $("columns").replaceChildren();
  $("question").textContent = "";
  showStatus("");
  history.replaceState(null, "", location.pathname + location.search);
  $("name").value = "";
  view = null;
  requested = 0;
  showStart();
}

/* A query */

async function show(number, docId = null) {
  requested = number;
  await saving;
  const found = await callApi("queries/" + number);
  if (requested !== number) return;  // the user has gone to another query in the meantime
  view = found;
  state = view.state;
  $("start").hidden = true;
  $("work").hidden = false;
  history.replaceState(null, "", "#query=" + number);
  $("question").textContent = view.text ?? view.query_id;
  $("question").classList.toggle("long", (view.text ?? "").length > 220);
  $("question").scrollTop = 0;
  $("columns").replaceChildren(...view.columns.map(drawColumn));
  $("trouble").textContent = "";
  updateView();
  const place = findUngraded(0, -1) ?? { column: 0, row: 0 };
  focus(docId === null ? place : placeOf(docId));
  scrollTo(0, docId === null ? 0 : scrollY);
}

function drawColumn(column, place) {
  const heading = make("h2", { id: "column-" + place, textContent: isPlan() ? "Documents" : "Column " + column.label });
  const choose = make("button", { type: "button", className: "choose", "aria-pressed": "false", hidden: isPlan() }, "Better column ", make("kbd", { textContent: "c" }));
  choose.setAttribute("aria-describedby", heading.id);
  choose.addEventListener("click", (event) => { saveChoice(state.choice === column.label ? null : column.label); returnFocus(event); });
  const list = make("ol", {}, ...column.results.map((docId, row) => drawResult(docId, place, row)));
  const nothing = make("p", { className: "empty", textContent: "No results." });
  return make("section", { className: "column", "aria-labelledby": heading.id },
    make("div", { className: "head" }, heading, choose), column.results.length ? list : nothing);
}

function drawResult(docId, column, row) {
  const words = ownValue(view.documents, docId) ?? { title: "", text: "" };
  const parts = [make("span", { className: "rank", textContent: row + 1 })];
  const title = words.title || (words.text ? "" : docId);
  parts.push(make("p", { className: "title", dir: "auto", hidden: !title, textContent: title }));
  if (words.text) parts.push(make("p", { className: "text", dir: "auto", textContent: words.text }));
  if (words.title || words.text) parts.push(make("p", { className: "id", textContent: docId }));
  const grades = make("div", { className: "grades", role: "group", "aria-label": "Choice and grade" });
  const best = make("button", { type: "button", className: "best", textContent: "Choose", title: "the result that you would actually use", hidden: isPlan() });
  best.addEventListener("click", (event) => { saveResult(docId); returnFocus(event); });
  grades.append(best);
  GRADE_NAMES.forEach((word, grade) => {
    const button = make("button", { type: "button", textContent: grade, title: word, "aria-label": `${grade}, ${word}`, "data-grade": grade });
    button.addEventListener("click", (event) => {
      const before = ownValue(state.grades, docId);
      const same = before && before.grade === grade && !before.flagged;
      saveGrade(docId, same ? null : grade, false);
      returnFocus(event);
    });
    grades.append(button);
  });
  parts.push(grades, ...(isPlan() ? drawMissing(docId, grades) : []));
  const flag = make("button", { type: "button", className: "flag", textContent: "Irrelevant", title: "flag: should not be a result at all" });
  flag.addEventListener("click", (event) => { toggleFlag(docId); returnFocus(event); });
  if (!isPlan()) grades.append(flag);
  const item = make("li", { className: "result", tabIndex: -1, "data-column": column, "data-row": row }, ...parts);
  item.dataset.doc = docId;
  item.addEventListener("focusin", () => makeTabbable({ column, row }));
  return item;
}

/* A document of a plan that cannot be judged: the button, which joins the grades, and the reason. */
function drawMissing(docId, grades) {
  const button = make("button", { type: "button", className: "missing" }, "Cannot judge ", make("kbd", { textContent: "x" }));
  button.addEventListener("click", () => toggleMissing(docId));
  grades.append(button);
  const reason = make("input", { maxLength: 500, autocomplete: "off" });
  reason.addEventListener("change", () => { if (ownValue(state.missing, docId) !== undefined) saveMissing(docId, reason.value); });
  reason.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    focus(placeOf(docId));
    if (event.key === "Enter") goToUngraded();
  });
  return [make("label", { className: "missing-reason", hidden: true }, "Reason (optional)", reason)];
}

function updateMissing(item) {
  const reason = ownValue(state.missing, item.dataset.doc);
  const input = item.querySelector(".missing-reason input");
  item.classList.toggle("missing", reason !== undefined);
  item.querySelector("button.missing").ariaPressed = String(reason !== undefined);
  input.parentElement.hidden = reason === undefined;
  if (document.activeElement !== input) input.value = reason ?? "";
}

function updateView() {
  for (const item of document.querySelectorAll(".result")) {
    const judged = ownValue(state.grades, item.dataset.doc);
    if (isPlan()) updateMissing(item);
    item.classList.toggle("judged", Boolean(judged));
    item.classList.toggle("zero", judged?.grade === 0);
    item.classList.toggle("flagged", Boolean(judged?.flagged));
    for (const button of item.querySelectorAll("[data-grade]")) {
      button.ariaPressed = String(judged !== undefined && !judged.flagged && judged.grade === Number(button.dataset.grade));
    }
    const flag = item.querySelector(".flag");
    if (flag) flag.ariaPressed = String(Boolean(judged?.flagged));
    const chosen = state.result === item.dataset.doc;
    item.classList.toggle("best", chosen);
    item.querySelector(".best").ariaPressed = String(chosen);
    item.querySelector(".best").textContent = chosen ? "✓ Chosen" : "Choose";
  }
  document.querySelectorAll(".column").forEach((column, place) => {
    const chosen = state.choice === view.columns[place].label;
    column.classList.toggle("chosen", chosen);
    column.querySelector(".choose").ariaPressed = String(chosen);
  });
  $("none").ariaPressed = String(state.choice === "none");
  $("none").hidden = isPlan();
  const cannot = state.cannot_judge !== null;
  $("cannot").ariaPressed = String(cannot);
  $("reason-field").hidden = !cannot;
  if (document.activeElement !== $("reason")) $("reason").value = state.cannot_judge ?? "";
  progress[view.query - 1] = state.progress;
  const complete = progress.filter((one) => one.complete).length;
  const here = state.progress;
  const follows = isPlan();
  // In a plan, a query that is left out is replaced by the next one.
  const leftOut = progress.filter((one) => one.cannot_judge).length;
  const judged = follows ? complete - leftOut : complete;
  const total = follows ? about.planned : progress.length;
  $("meter").max = total;
  $("meter").value = Math.min(judged, total);
  const place = follows && view.query > total + leftOut ? `Query ${view.query}, beyond the plan` : `Query ${view.query} of ${total + (follows ? leftOut : 0)}`;
  $("where").textContent = `${place} · ${view.text === null ? "" : `id ${view.query_id} · `}${stored.get("name")}`;
  $("count").textContent =
    `${judged} of ${total} queries complete · here ${describeHere(here)}${follows && leftOut ? ` · ${leftOut} left out` : ""}`;
  $("done").hidden = follows || complete < progress.length;
  $("plan-done").hidden = !follows || judged < total;
  const more = progress.length < about.queries || complete < progress.length;
  $("plan-done").textContent = `The plan is complete: ${plural(judged, "query is", "queries are")} judged. Thank you. ${more ? "You can go on with further queries." : "You can still change your answers."}`;
  $("previous").disabled = view.query === 1;
  $("next").disabled = view.query === progress.length;
  $("open").disabled = complete === progress.length;
  document.title = `${view.query} of ${total} – Review`;
}

function describeHere(here) {
  if (here.cannot_judge) return state.cannot_judge === null ? "left out, because too many documents cannot be judged" : "cannot judge";
  const graded = here.results ? `${here.judged} of ${plural(here.results, isPlan() ? "document" : "graded", isPlan() ? "documents" : "graded")}` : "";
  return isPlan() ? graded : `${graded && graded + ", "}${here.chosen ? "chosen" : "not chosen"}`;
}

/* Answers: displayed only after the server has saved them, in the order of input. */

function save(path, body, words) {
  const number = view.query;
  const session = stored.get("session");  // the session of this answer, even if another one is active when it is sent
  saving = saving.then(async () => {
    try {
      const answer = await callApi(path, body, session);
      if (session !== stored.get("session")) return;
      $("trouble").textContent = "";
      await refreshProgress(answer);
      applyState(answer, number);
      showStatus(words + " Saved.");
    } catch (error) {
      showError(error);
    } finally {
      if (body.doc_id) waiting.delete(body.doc_id);
    }
  });
  return saving;
}

/* In a plan, the next query is offered when this one is complete. */
async function refreshProgress(answer) {
  if (!isPlan() || progress[answer.query - 1]?.complete === answer.progress.complete) return;
  const found = await callApi("progress");
  progress = found.queries;
  titles = found.titles;
}

function applyState(answer, number) {
  progress[number - 1] = answer.progress;
  if (view && view.query === number) {
    state = answer;
    updateView();
  }
}

function saveGrade(docId, grade, flagged) {
  if (grade !== null) waiting.add(docId);
  const words = grade === null ? "Grade removed." : flagged ? "Flagged as irrelevant." : `Graded ${grade}, ${GRADE_NAMES[grade]}.`;
  return save("grades", { query: view.query, doc_id: docId, grade, flagged }, words);
}

function toggleFlag(docId) {
  const flagged = Boolean(ownValue(state.grades, docId)?.flagged);
  saveGrade(docId, flagged ? null : 0, !flagged);
  return !flagged;
}

const saveMissing = (docId, reason) => save("missing", { query: view.query, doc_id: docId, reason }, "Cannot judge this document.");

function toggleMissing(docId) {
  if (ownValue(state.missing, docId) !== undefined) {
    saveGrade(docId, null, false);
    return;
  }
  waiting.add(docId);
  saveMissing(docId, "").then(() => {
    if (view && ownValue(state.missing, docId) !== undefined) itemAt(placeOf(docId))?.querySelector(".missing-reason input").focus();
  });
}

function saveResult(docId) {
  const same = state.result === docId;
  return save("results", { query: view.query, doc_id: same ? null : docId }, same ? "Choice removed." : "Result chosen.");
}

const saveReason = (reason) => save("cannot-judge", { query: view.query, reason }, reason === null ? "Can be judged." : "Cannot judge.");

function toggleCannot() {
  const cannot = state.cannot_judge === null;
  saveReason(cannot ? "" : null).then(() => { if (cannot && state.cannot_judge !== null) $("reason").focus(); });
}

/* After a click, keys work on the result again instead of the button. */
function returnFocus(event) {
  if (event.detail > 0) (event.target.closest(".result") ?? itemAt(at))?.focus({ preventScroll: true });
}

function saveChoice(choice) {
  if (isPlan()) return saving;
  const words = choice === null ? "Choice removed." : choice === "none" ? "None of them chosen." : `Column ${choice} chosen.`;
  return save("choices", { query: view.query, choice }, words);
}

function undo() {
  const session = stored.get("session");
  saving = saving.then(async () => {
    try {
      const answer = await callApi("undo", {}, session);
      if (session !== stored.get("session")) return null;
      $("trouble").textContent = "";
      if (answer.what === null) {
        showStatus("There is nothing to undo.");
        return null;
      }
      await refreshProgress(answer.state);
      progress[answer.state.query - 1] = answer.state.progress;
      return answer;
    } catch (error) {
      showError(error);
      return null;
    }
  });
  return saving.then(async (answer) => {
    if (!answer) return;
    if (answer.state.query === view.query) {
      applyState(answer.state, view.query);
      if (answer.doc_id !== null) focus(placeOf(answer.doc_id));
    } else {
      await show(answer.state.query, answer.doc_id).catch(showError);
    }
    showStatus(`The last ${{ grade: "grade", choice: "choice", result: "choice" }[answer.what] ?? "answer"} was undone.`);
  });
}

/* Navigation */

const itemAt = ({ column, row }) => document.querySelector(`.result[data-column="${column}"][data-row="${row}"]`);

function placeOf(docId) {
  const columns = view.columns.map((one, column) => ({ column, row: one.results.indexOf(docId) }));
  const here = columns[at.column];
  return here && here.row >= 0 ? here : columns.find((one) => one.row >= 0) ?? { column: 0, row: 0 };
}

function makeTabbable(place) {
  const before = document.querySelector('.result[tabindex="0"]');
  const item = itemAt(place);
  if (before && before !== item) {
    before.tabIndex = -1;
    for (const button of before.querySelectorAll("button")) button.tabIndex = -1;
  }
  item.tabIndex = 0;
  for (const button of item.querySelectorAll("button")) button.tabIndex = 0;
  at = place;
}

function focus(place) {
  for (const item of document.querySelectorAll(".result:not([tabindex='0']) button")) item.tabIndex = -1;
  const item = itemAt(place);
  if (!item) return;
  makeTabbable(place);
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

/* Return the first result without a grade: after this row, otherwise in any column. */
function findUngraded(column, row) {
  const isOpen = (docId) => !ownValue(state.grades, docId) && ownValue(state.missing, docId) === undefined && !waiting.has(docId);
  const order = [column, ...view.columns.keys()].filter((one, place, all) => all.indexOf(one) === place);
  const inside = view.columns[column].results.findIndex((docId, place) => place > row && isOpen(docId));
  if (inside >= 0) return { column, row: inside };
  for (const one of order) {
    const found = view.columns[one].results.findIndex(isOpen);
    if (found >= 0) return { column: one, row: found };
  }
  return null;
}

function move(columns, rows) {
  if (columns === 0) {
    focus({ column: at.column, row: Math.max(0, Math.min(view.columns[at.column].results.length - 1, at.row + rows)) });
    return;
  }
  let column = at.column + columns;
  while (view.columns[column] && !view.columns[column].results.length) column += columns;
  if (!view.columns[column]) return;
  focus({ column, row: Math.min(at.row, view.columns[column].results.length - 1) });
}

const goToUngraded = () => { const place = findUngraded(at.column, at.row); if (place) focus(place); };
const goTo = (number) => { if (number >= 1 && number <= progress.length) show(number).catch(showError); };

function goToIncomplete() {
  saving.then(() => {
    const order = [...progress.keys()].map((step) => (view.query + step) % progress.length);
    const found = order.find((place) => !progress[place].complete);
    if (found === undefined) showStatus("All queries are complete.");
    else if (found + 1 === view.query) {
      showStatus("Only this query is not complete.");
      focus(findUngraded(0, -1) ?? at);
    }
    else goTo(found + 1);
  });
}

/* The list of all queries */

function describe(one) {
  return one.cannot_judge ? "cannot judge" : one.complete ? "complete"
    : one.judged || (one.chosen && !isPlan()) ? `${one.judged} of ${one.results} graded${one.chosen && !isPlan() ? ", chosen" : ""}` : "not started";
}

function drawList() {
  const items = progress.map((one, place) => {
    const button = make("button", { type: "button" },
      make("span", { textContent: place + 1 }),
      make("span", { className: "words", dir: "auto", textContent: titles[place] }),
      make("span", { className: one.complete ? "state complete" : "state", textContent: describe(one) }));
    if (place + 1 === view.query) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => { $("list").close(); goTo(place + 1); });
    return make("li", {}, button);
  });
  $("queries").replaceChildren(...items);
}

function openList() {
  saving.then(() => {
    drawList();
    $("list").showModal();
    $("queries").querySelector("[aria-current]")?.focus();
  });
}

const docHere = () => view.columns[at.column]?.results[at.row];
const canGrade = () => Boolean(docHere());
const ACTIONS = {
  ArrowDown: () => move(0, 1), j: () => move(0, 1),
  ArrowUp: () => move(0, -1), k: () => move(0, -1),
  ArrowRight: () => move(1, 0), l: () => move(1, 0),
  ArrowLeft: () => move(-1, 0), h: () => move(-1, 0),
  b: () => docHere() && !isPlan() && saveResult(docHere()),
  x: () => {
    if (!canGrade()) return;
    if (isPlan()) toggleMissing(docHere());
    else if (toggleFlag(docHere())) goToUngraded();
  },
  Delete: () => canGrade() && saveGrade(docHere(), null, false),
  o: () => itemAt(at)?.classList.toggle("open"),
  d: toggleCannot,
  a: openList,
  c: () => saveChoice(view.columns[at.column].label),
  "=": () => saveChoice("none"),
  n: () => goTo(requested + 1),
  p: () => goTo(requested - 1),
  Enter: goToIncomplete, g: goToIncomplete,
  u: undo,
  "?": () => $("keys").showModal(),
};
for (const grade of GRADE_NAMES.keys()) {
  ACTIONS[grade] = () => {
    if (!canGrade()) return;
    saveGrade(docHere(), grade, false);
    goToUngraded();
  };
}

document.addEventListener("keydown", (event) => {
  if ($("work").hidden || document.querySelector("dialog[open]") || view === null) return;
  if (event.target.closest("input, textarea, select")) return;
  const isUndo = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
  if (isUndo) {
    event.preventDefault();
    undo();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !$("single").checked) return;
  if (event.key === "Enter" && event.target.closest("button, summary")) return;
  if (!Object.hasOwn(ACTIONS, event.key)) return;
  event.preventDefault();
  if (event.repeat && !event.key.startsWith("Arrow") && !"hjkl".includes(event.key)) return;
  ACTIONS[event.key]();
});

$("form").addEventListener("submit", (event) => { event.preventDefault(); startSession(false); });
$("yes").addEventListener("click", () => startSession(true));
$("no").addEventListener("click", () => { $("name").value = ""; showStart(); });
$("previous").addEventListener("click", () => goTo(requested - 1));
$("next").addEventListener("click", () => goTo(requested + 1));
$("open").addEventListener("click", goToIncomplete);
$("undo").addEventListener("click", undo);
$("help").addEventListener("click", () => $("keys").showModal());
$("leave").addEventListener("click", leave);
$("none").addEventListener("click", (event) => { saveChoice(state.choice === "none" ? null : "none"); returnFocus(event); });
$("cannot").addEventListener("click", toggleCannot);
$("reason").addEventListener("change", () => { if (state.cannot_judge !== null) saveReason($("reason").value); });
$("reason").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" && event.key !== "Escape") return;
  event.preventDefault();
  focus(at);
  if (event.key === "Enter") goToIncomplete();
});
$("all").addEventListener("click", openList);
$("single").addEventListener("change", () => stored.set("single", $("single").checked ? "" : "off"));
$("single").checked = stored.get("single") !== "off";

new ResizeObserver(() => document.documentElement.style.setProperty("--bar", $("bar").offsetHeight + "px")).observe($("bar"));

const given = new URLSearchParams(location.hash.slice(1)).get("key");
if (given) {
  stored.set("key", given);
  history.replaceState(null, "", location.pathname + location.search);
}
if (stored.get("session")) resumeWork().catch((error) => showStart(error.message));
else showStart();
