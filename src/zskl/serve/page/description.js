// The class that is being described: where it starts from, and what was changed since.
export class Description extends EventTarget {
  constructor(attributes) {
    super();
    this.attributes = attributes;
    this.base = new Map(); // given by the class it starts from; empty: from nothing, the mean of the seen classes
    this.changed = new Map();
    this.start = null; // the name of that class
    this.editing = false; // whether saving replaces it
  }

  from(start, values = {}, editing = false) {
    this.start = start;
    this.base = new Map(Object.entries(values));
    this.changed = new Map();
    this.editing = editing;
    this.#tell();
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

  set({ name }, value) {
    if (this.base.get(name) === value) this.changed.delete(name);
    else this.changed.set(name, value);
    this.#tell();
  }

  reset({ name }) {
    this.changed.delete(name);
    this.#tell();
  }

  clear() {
    this.changed.clear();
    this.#tell();
  }

  // Set all that is not set to their lowest value: the description then leaves nothing to the mean.
  lowerRest() {
    for (const one of this.attributes) if (!this.isSet(one)) this.changed.set(one.name, one.low);
    this.#tell();
  }

  get empty() {
    return this.base.size + this.changed.size === 0;
  }

  get unset() {
    return this.attributes.filter((one) => !this.isSet(one));
  }

  given() {
    return Object.fromEntries([...this.base, ...this.changed]);
  }

  // As plain values and back, through a reload; attributes that the model no longer has are left out.
  get plain() {
    return { start: this.start, editing: this.editing, base: [...this.base], changed: [...this.changed] };
  }

  restore({ start, editing, base, changed }) {
    const known = new Set(this.attributes.map((one) => one.name));
    const kept = (pairs) => new Map(pairs.filter(([name, value]) => known.has(name) && Number.isFinite(value)));
    Object.assign(this, { start, editing, base: kept(base), changed: kept(changed) });
    this.#tell();
  }

  #tell() {
    this.dispatchEvent(new Event("change"));
  }
}
