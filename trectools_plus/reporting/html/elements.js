"use strict";

/** Make an element. Properties are set, never parsed, so text from outside stays text. */
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.includes("-") || name === "role" || name === "scope" || name === "colspan") {
      element.setAttribute(name, value);
    } else {
      element[name] = value;
    }
  }
  element.append(...children);
  return element;
}

/** Announce a change to screen readers. */
function announce(text) {
  document.getElementById("status").textContent = text;
}

/** Add a sort button to the header of a column. */
function addSortButton(header, onClick) {
  const button = make("button", { type: "button", className: "sort" });
  button.append(...[...header.childNodes].filter((child) => child.nodeName !== "svg"));
  header.prepend(button);
  header.setAttribute("aria-sort", "none");
  button.addEventListener("click", onClick);
}

/** Return the sort direction after a click on a header: the first one, then the other. */
function nextDirection(header, first) {
  const other = { ascending: "descending", descending: "ascending" };
  return other[header.getAttribute("aria-sort")] || first;
}

/** Mark the header that sorts its table. */
function markSorted(header, direction) {
  for (const other of header.parentElement.children) {
    if (other.hasAttribute("aria-sort")) {
      other.setAttribute("aria-sort", other === header ? direction : "none");
    }
  }
  announce(`Sorted by ${header.textContent.trim()}, ${direction}`);
}

/** Compare two values for sorting; null is last in either direction. */
function compareValues(one, other, direction) {
  if (one === null || other === null) {
    return (one === null) - (other === null);
  }
  const order = typeof one === "string"
    ? one.localeCompare(other, "en", { numeric: true })
    : one - other;
  return direction === "ascending" ? order : -order;
}

/** Make an SVG element with attributes. */
function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Make an option of a select. */
function makeOption(value, text) {
  return make("option", { value: String(value) }, text);
}

/** Return a count with thousands separators. */
function count(number) {
  return number.toLocaleString("en");
}

/** Return "1 query" or "1,200 queries". */
function countQueries(number) {
  return `${count(number)} ${number === 1 ? "query" : "queries"}`;
}

/** Return a value with thousands separators; a dash if it is undefined. */
function show(value, decimals = 4, sign = false) {
  if (value === null || Number.isNaN(value)) {
    return "–";
  }
  return value.toLocaleString("en", { minimumFractionDigits: decimals,
    maximumFractionDigits: decimals, signDisplay: sign ? "always" : "auto" }).replace("-", "−");
}

/** Return an element of the page. */
function find(id) {
  return document.getElementById(id);
}
