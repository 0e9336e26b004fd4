/** The values, results and texts of all queries; values of a measure are decoded when needed. */
class Queries {
  constructor(data) {
    Object.assign(this, data);
    this.size = data.ids.length;
    this.queries = data.ids.map((id, query) => [id, data.texts[query] ?? ""]);
    this.decoded = {};
  }

  /** Return the values of a measure by mode and query: NaN if undefined. */
  valuesOf(measure) {
    return (this.decoded[measure] ??= this.decode(this.values[measure]));
  }

  decode(packed) {
    const octets = Uint8Array.from(atob(packed), (octet) => octet.charCodeAt(0));
    const values = new Float32Array(octets.buffer);
    return this.modes.map((_, mode) => values.subarray(mode * this.size, (mode + 1) * this.size));
  }

  /** Return the largest difference of two modes on any query; of a single mode, its largest value. */
  furthestOf(measure) {
    const values = this.valuesOf(measure);
    let furthest = 0;
    for (let query = 0; query < this.size; query += 1) {
      let low = Infinity;
      let high = -Infinity;
      for (const ofMode of values) {
        low = Math.min(low, ofMode[query]);
        high = Math.max(high, ofMode[query]);
      }
      const reach = values.length > 1 ? high - low : Math.abs(high);
      furthest = reach > furthest ? reach : furthest; // NaN if a value is undefined
    }
    return furthest;
  }

  /** Return [doc_id, title, grade or null] of the first results. */
  resultsOf(mode, query) {
    const cell = mode * this.size + query;
    return (this.results[cell] ?? []).map((document, rank) =>
      [this.documents[document], this.titles[document] ?? "", this.grades[cell][rank]]);
  }
}

/** Return the defined values. */
function defined(values) {
  return values.filter((value) => !Number.isNaN(value));
}

function meanOf(values) {
  const known = defined(values);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : NaN;
}

/** Return the largest minus the smallest value; NaN with fewer than two. */
function spreadOf(values) {
  const known = defined(values);
  return known.length < 2 ? NaN : Math.max(...known) - Math.min(...known);
}

/** Return the best of several values; NaN if all are equal or undefined. */
function bestOf(values, lower) {
  const known = defined(values);
  if (known.length < 2 || known.every((value) => value === known[0])) {
    return NaN;
  }
  return (lower ? Math.min : Math.max)(...known);
}
