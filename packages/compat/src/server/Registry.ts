/** Features of one kind by key, in the order of registration, with handles that change them. */
import type { Registered } from "./features.ts"

/** A feature, and whether it is enabled. */
export interface Entry<V> {
  value: V
  enabled: boolean
}

export class Registry<V> {
  readonly #entries = new Map<string, Entry<V>>()
  readonly #kind: string
  readonly #changed: () => void

  /** `kind` starts the error message about a duplicate key. `changed` is called after each change. */
  constructor(kind: string, changed: () => void) {
    this.#kind = kind
    this.#changed = changed
  }

  /** Adds a feature. `apply` applies an update and returns the new key: `null` removes the feature, `undefined` keeps the key. */
  add<U>(
    key: string,
    value: V,
    apply: (
      value: V,
      updates: U & { enabled?: boolean | undefined }
    ) => { readonly value: V; readonly key: string | null | undefined }
  ): Registered<U> {
    if (this.#entries.has(key)) throw new Error(`${this.#kind} ${key} is already registered`)
    const entry: Entry<V> = { value, enabled: true }
    this.#entries.set(key, entry)
    let current = key
    const update = (updates: U & { enabled?: boolean | undefined }): void => {
      const applied = apply(entry.value, updates)
      entry.value = applied.value
      if (updates.enabled !== undefined) entry.enabled = updates.enabled
      if (applied.key !== undefined && applied.key !== current) {
        this.#remove(current, entry)
        if (applied.key !== null) this.#entries.set((current = applied.key), entry)
      }
      this.#changed()
    }
    const enable = (enabled: boolean): void => {
      entry.enabled = enabled
      this.#changed()
    }
    this.#changed()
    return {
      get enabled() {
        return entry.enabled
      },
      set enabled(enabled) {
        enable(enabled)
      },
      enable: () => enable(true),
      disable: () => enable(false),
      remove: () => {
        this.#remove(current, entry)
        this.#changed()
      },
      update
    }
  }

  #remove(key: string, entry: Entry<V>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
  }

  get(key: string): Entry<V> | undefined {
    return this.#entries.get(key)
  }

  /** Returns the features that are enabled. */
  offered(): ReadonlyArray<readonly [key: string, value: V]> {
    return [...this.#entries].flatMap(([key, { enabled, value }]) => (enabled ? [[key, value] as const] : []))
  }
}
