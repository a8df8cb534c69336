/** Newline-delimited JSON as a client reads it: noise on the wire is reported and never answered. */
import * as Framing from "@effect-mcp/core/Framing"
import type { Inbound } from "@effect-mcp/core/Transport"

export interface Options {
  /** The largest message that is read, in bytes. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /** Told of every line that is no message; the start of the line is in the text. */
  readonly dropped?: ((reason: string) => void) | undefined
}

/** One per connection: turns chunks into what they completed. */
export const decoder = (options: Options): ((chunk: Uint8Array) => ReadonlyArray<Inbound>) => {
  const lines = new Framing.LineDecoder(options.maxMessageBytes)
  return (chunk) => {
    const inbound = lines.push(chunk)
    return inbound.some(isNoise)
      ? inbound.filter((entry) => {
          if (!isNoise(entry)) return true
          options.dropped?.(`Not a message: ${entry.text ?? entry.error.message}`)
          return false
        })
      : inbound
  }
}

type Unreadable = Extract<Inbound, { readonly _tag: "Unreadable" }>

/** What cannot be tied to any request would only confuse the server if it were answered. */
const isNoise = (inbound: Inbound): inbound is Unreadable => inbound._tag === "Unreadable" && inbound.id === undefined
