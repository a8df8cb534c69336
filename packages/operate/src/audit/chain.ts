/**
 * The hash chain of an audit trail. Each line contains the previous line's hash, so lines can't be changed, removed or inserted unnoticed.
 *
 * If a key is set, the hashes are HMACs, and nobody without the key can create another chain.
 */
import { beginning } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import * as Redacted from "effect/Redacted"

/** The end of a chain. */
export interface Tail {
  readonly seq: number
  readonly hash: string
}

export const start: Tail = { seq: 0, hash: "0".repeat(64) }

/** Hashes text to 64 lower-case hex digits. */
export type Hasher = (text: string) => Effect.Effect<string>

const encoder = new TextEncoder()
const hex = (bytes: ArrayBuffer): string => Hex.encode(new Uint8Array(bytes))

/** Creates a hasher that uses SHA-256, or HMAC-SHA-256 if there is a key. */
export const hasherOf = (key: Redacted.Redacted | undefined): Effect.Effect<Hasher> => {
  const { subtle } = globalThis.crypto
  if (key === undefined) {
    return Effect.succeed((text) =>
      Effect.map(
        Effect.promise(() => subtle.digest("SHA-256", encoder.encode(text))),
        hex
      )
    )
  }
  const algorithm = { name: "HMAC", hash: "SHA-256" }
  return Effect.map(
    Effect.promise(() => subtle.importKey("raw", encoder.encode(Redacted.value(key)), algorithm, false, ["sign"])),
    (imported) => (text) =>
      Effect.map(
        Effect.promise(() => subtle.sign("HMAC", imported, encoder.encode(text))),
        hex
      )
  )
}

const numbers = (_: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}` : value)

/** Serializes as JSON. Details come from the program, so a bigint becomes text, and a value without a JSON form doesn't stop the trail. */
const textOf = (fields: object, prev: string): string => {
  try {
    return JSON.stringify({ ...fields, prev }, numbers)
  } catch (error) {
    const details = { unreadable: error instanceof Error ? beginning(error.message) : "" }
    return JSON.stringify({ ...fields, details, prev }, numbers)
  }
}

/** Returns a record's line without a newline, and the chain's new end. `fields` are the fields that precede `prev`. */
export const link = (
  tail: Tail,
  fields: object,
  hash: Hasher
): Effect.Effect<{ readonly line: string; readonly tail: Tail }> => {
  const seq = tail.seq + 1
  const body = textOf({ seq, ...fields }, tail.hash)
  return Effect.map(hash(body), (hash) => ({ line: `${body.slice(0, -1)},"hash":"${hash}"}`, tail: { seq, hash } }))
}

/** A parsed line: its hash, and the text that was hashed. */
export interface Linked {
  readonly record: { readonly [key: string]: unknown }
  readonly seq: number
  readonly prev: string
  readonly hash: string
  readonly body: string
}

const ending = /,"hash":"([0-9a-f]{64})"\}$/

/** Parses a line. Returns `undefined` if it is not a record. */
export const read = (line: string): Linked | undefined => {
  const found = ending.exec(line)
  if (found === null) return undefined
  const [suffix, hash = ""] = found
  const body = `${line.slice(0, -suffix.length)}}`
  try {
    const record: unknown = JSON.parse(body)
    if (!isJsonObject(record)) return undefined
    const { prev, seq } = record
    return typeof seq === "number" && typeof prev === "string" ? { record, seq, prev, hash, body } : undefined
  } catch {
    return undefined
  }
}
