"use strict";

/** Make an element; properties are set, never parsed, so text from outside stays text. */
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

/** Tell a screen reader what has changed. */
function announce(text) {
  document.getElementById("status").textContent = text;
}

/** Put a button that sorts into a column's header. */
function addSortButton(header, onClick) {
  const button = make("button", { type: "button", className: "sort" });
  button.append(...[...header.childNodes].filter((child) => child.nodeName !== "svg"));
  header.prepend(button);
  header.setAttribute("aria-sort", "none");
  button.addEventListener("click", onClick);
}

/** The direction that a click on a header asks for: its first one, then the other. */
function nextDirection(header, first) {
  const other = { ascending: "descending", descending: "ascending" };
  return other[header.getAttribute("aria-sort")] || first;
}

/** Say which of a table's headers sorts it. */
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

// What is folded is printed too.
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([open])")) {
    details.open = true;
    details.dataset.folded = "";
  }
});
window.addEventListener("afterprint", () => {
  for (const details of document.querySelectorAll("details[data-folded]")) {
    details.open = false;
    delete details.dataset.folded;
  }
});
