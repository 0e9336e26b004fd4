/** Return a value as text: four decimals, or a dash if it is undefined. */
function showValue(data, part) {
  return part === null ? "–" : (part / data.parts).toFixed(4);
}

/** Return the best of several values; null if all are equal or undefined. */
function bestOf(parts, lower) {
  const known = parts.filter((part) => part !== null);
  if (known.length < 2 || known.every((part) => part === known[0])) {
    return null;
  }
  return (lower ? Math.min : Math.max)(...known);
}

/** Make the table of all measures of one query, by mode. */
function makeMeasures(data, query) {
  const header = make("tr", null, make("th", { scope: "col" }, "Measure"),
    ...data.modes.map((mode) => make("th", { scope: "col" }, mode)));
  const rows = data.measures.map((measure, place) => {
    const parts = data.values[place].map((values) => values[query]);
    const best = bestOf(parts, data.lower[place]);
    const cells = parts.map((part) => make(
      "td", { className: part !== null && part === best ? "best" : "" }, showValue(data, part)));
    return make("tr", null, make("th", { scope: "row" }, measure), ...cells);
  });
  const table = make("table", null, make("caption", null, "All measures of this query"),
    make("thead", null, header), make("tbody", null, ...rows));
  return make("div", { className: "scroll", role: "group", tabIndex: 0,
    "aria-label": "All measures of this query" }, table);
}

/** Make the mark of a document's grade, with hidden text for screen readers. */
function makeGrade(data, grade) {
  const [kind, text, words] = grade === null
    ? ["unjudged", "?", "not judged"]
    : [grade >= data.level ? "relevant" : "rejected", String(grade).replace("-", "−"),
      `grade ${grade}`];
  return make("span", { className: `grade ${kind}`, title: words },
    make("span", { "aria-hidden": "true" }, text), make("span", { className: "unseen" }, words));
}

/** Make the list of the first results of one mode for a query. */
function makeResults(data, query, mode) {
  const found = data.results[mode][query];
  const items = [];
  for (let place = 0; place < found.length; place += 2) {
    const [docId, title] = data.documents[found[place]];
    items.push(make("li", null, makeGrade(data, found[place + 1]),
      make("span", { className: "document" }, make("code", null, docId), title ? ` ${title}` : "")));
  }
  return make("div", { className: "results" }, make("h3", null, data.modes[mode]),
    items.length ? make("ol", null, ...items) : make("p", null, "No results."));
}

/** Make the details of one query. */
function makeDetails(data, query) {
  const relevant = data.queries[query][2];
  const parts = [];
  if (relevant !== null) {
    const noun = relevant === 1 ? "document is" : "documents are";
    parts.push(make("p", { className: "hint" }, `${relevant} ${noun} relevant.`));
  }
  parts.push(makeMeasures(data, query));
  if (data.results.length) {
    const lists = data.modes.map((_, mode) => makeResults(data, query, mode));
    parts.push(make("p", { className: "hint" },
      `First ${data.depth} results, each with its grade. ?: not judged.`));
    parts.push(make("div", { className: "side" }, ...lists));
  }
  return parts;
}
