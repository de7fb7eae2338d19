// The class that is being described: where it starts from, and what was changed since.
export class Description extends EventTarget {
  constructor(attributes) {
    super();
    this.attributes = attributes;
    this.groups = new Map(); // of exclusive attributes: every class has at most one of a group
    for (const one of attributes.filter(({ exclusive }) => exclusive))
      this.groups.set(one.group, [...(this.groups.get(one.group) ?? []), one]);
    this.base = new Map(); // given by the class it starts from; empty: from nothing, the mean of the seen classes
    this.changed = new Map();
    this.start = null; // the name of that class
    this.editing = false; // whether saving replaces it
    this.saved = null; // the class that it was saved as, until it changes
    this.sentence = ""; // in place of attributes, where a class is described by one
  }

  // `since` is the version of the classes in which `start` was seen.
  from(start, values = {}, editing = false, since = null, sentence = "") {
    this.start = start;
    this.sentence = sentence;
    this.since = since;
    this.base = new Map(Object.entries(values));
    this.changed = new Map();
    this.editing = editing;
    this.#tell();
  }

  // Start from nothing, with these values set.
  begin(values) {
    Object.assign(this, { start: null, base: new Map(), changed: new Map(), editing: false, sentence: "" });
    for (const one of this.attributes) if (Object.hasOwn(values, one.name)) this.#put(one, values[one.name]);
    this.#tell();
  }

  // Whether just these values are set, from nothing; beside a 1 the others of its group do not count.
  describes(values) {
    const other = new Description(this.attributes);
    other.begin(values);
    const same = ([name, value]) => this.changed.get(name) === value;
    return !this.base.size && this.changed.size === other.changed.size && [...other.changed].every(same);
  }

  // Say something else: of a class that is edited, all that it says; otherwise from nothing.
  replace(pairs) {
    Object.assign(this, { base: new Map(), changed: new Map(), sentence: "" });
    if (!this.editing) this.start = null;
    for (const [one, value] of pairs) this.#put(one, value);
    this.#tell();
  }

  // Not set any more, even if the class that it starts from says it.
  remove(one) {
    for (const { name } of this.groups.get(one.exclusive && one.group) ?? [one]) {
      this.base.delete(name);
      this.changed.delete(name);
    }
    this.#tell();
  }

  // What was said: all that is set, unless a whole class of the model was taken to start from.
  get said() {
    const all = this.base.size < this.attributes.length || this.attributes.length <= 12 ? [...this.base.keys()] : [];
    return [...new Set([...all, ...this.changed.keys()])];
  }

  // What is described stays, but saving makes a class of its own; `gone`: there is no such class any more.
  stopEditing(gone = false) {
    this.editing = false;
    if (gone) this.start = null;
    this.#tell();
  }

  isSet({ name }) {
    return this.changed.has(name) || this.base.has(name);
  }

  value({ name, mean }) {
    return this.changed.get(name) ?? this.base.get(name) ?? mean;
  }

  before({ name, mean }) {
    return this.base.get(name) ?? mean;
  }

  say(sentence) {
    Object.assign(this, { sentence, base: new Map(), changed: new Map() });
    this.#tell();
  }

  set(one, value) {
    this.#put(one, value);
    this.#tell();
  }

  // Several at once: [attribute, value].
  put(pairs) {
    for (const [one, value] of pairs) this.#put(one, value);
    if (pairs.length) this.#tell();
  }

  // None of them applies.
  lower(members) {
    for (const one of members) this.#put(one, 0);
    this.#tell();
  }

  reset(one) {
    for (const { name } of this.groups.get(one.exclusive && one.group) ?? [one]) this.changed.delete(name);
    this.#tell();
  }

  clear() {
    this.changed.clear();
    this.#tell();
  }

  // Set all switches that are not set to their lowest value. One of an exclusive group is to be chosen.
  lowerRest() {
    for (const one of this.unset) if (!one.exclusive) this.changed.set(one.name, one.low);
    this.#tell();
  }

  get empty() {
    return this.base.size + this.changed.size === 0 && !this.sentence;
  }

  get unset() {
    return this.attributes.filter((one) => !this.isSet(one));
  }

  given() {
    return Object.fromEntries([...this.base, ...this.changed]);
  }

  // What a request is told.
  body() {
    return this.sentence ? { sentence: this.sentence } : { attributes: this.given() };
  }

  // As plain values and back, through a reload; attributes that the model no longer has are left out.
  get plain() {
    const { start, editing, since, sentence } = this;
    return { start, editing, since, sentence, base: [...this.base], changed: [...this.changed] };
  }

  restore({ start, editing, since, sentence = "", base, changed }) {
    const known = new Set(this.attributes.map((one) => one.name));
    const kept = (pairs) => new Map(pairs.filter(([name, value]) => known.has(name) && Number.isFinite(value)));
    Object.assign(this, { start, editing, since, sentence, base: kept(base), changed: kept(changed) });
    this.#tell();
  }

  #put(one, value) {
    const others = one.exclusive && value === 1 ? this.groups.get(one.group) : []; // `high` is 0 if no class has it
    for (const [{ name }, now] of [...others.map((other) => [other, 0]), [one, value]])
      if (this.base.get(name) === now) this.changed.delete(name);
      else this.changed.set(name, now);
  }

  #tell() {
    this.saved = null;
    this.dispatchEvent(new Event("change"));
  }
}
