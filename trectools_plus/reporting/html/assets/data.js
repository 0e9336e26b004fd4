/** The values, results and texts of all queries; values of a measure are decoded when needed. */
class Queries {
  constructor(data) {
    Object.assign(this, data);
    this.size = data.queries.length;
    this.decoded = new Map();
    this.unpacked = new Map();
  }

  /** Return the values of a measure by mode and query: NaN if undefined. */
  valuesOf(measure) {
    if (!this.decoded.has(measure)) {
      this.decoded.set(measure, this.decode(this.values[measure]));
    }
    return this.decoded.get(measure);
  }

  decode({ bytes, palette, from, data }) {
    const codes = unpack(data, bytes);
    const missing = 2 ** (8 * bytes) - 1;
    const valueOf = palette ? (code) => palette[code] : (code) => code + from;
    const values = Float64Array.from(codes,
      (code) => (code === missing ? NaN : valueOf(code) / this.parts));
    return this.modes.map((_, mode) => values.subarray(mode * this.size, (mode + 1) * this.size));
  }

  /** Return the largest value of any mode and query, at least 1. */
  topOf(measure) {
    let top = 1;
    for (const values of this.valuesOf(measure)) {
      for (const value of values) {
        top = value > top ? value : top;
      }
    }
    return top;
  }

  /** Return the rank of the first relevant document; 0 if not found, null if unknown. */
  firstOf(mode, query) {
    return this.first === null ? null : this.codesOf("first", 2)[mode * this.size + query];
  }

  /** Return [doc_id, title, grade or null] of the first results. */
  resultsOf(mode, query) {
    const codes = this.codesOf("results", 4);
    const kinds = this.grades.length + 1;
    const start = (mode * this.size + query) * this.depth;
    return [...codes.subarray(start, start + this.depth)]
      .filter((code) => code !== 2 ** 32 - 1)
      .map((code) => [...this.documents[Math.floor(code / kinds)],
        code % kinds ? this.grades[(code % kinds) - 1] : null]);
  }

  codesOf(name, bytes) {
    if (!this.unpacked.has(name)) {
      this.unpacked.set(name, unpack(this[name], bytes));
    }
    return this.unpacked.get(name);
  }
}

/** Return numbers of one, two or four bytes from base64. */
function unpack(text, bytes) {
  const raw = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(raw.buffer);
  const read = { 1: "getUint8", 2: "getUint16", 4: "getUint32" }[bytes];
  const Kind = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[bytes];
  return Kind.from({ length: raw.length / bytes }, (_, place) => view[read](place * bytes, true));
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
