/**
 * Follows private data and untrusted text through a conversation.
 *
 * A model that has read private data and untrusted text must not act on the text with the data: whoever wrote the text may make it send the
 * data to them. Every result is a source of private data, unless its server is public, and of untrusted text, unless its server is trusted
 * and the tool doesn't reach the open world. An action that could carry data away is then a `Leak`, and the policy asks about it.
 *
 * Results carry their marks in `_meta`, so that they reach the host through a gateway. A mark can only add sources.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { memoize } from "effect/Function"
import type { HostConversation } from "../caller/Caller.ts"

/** Data that may leave together with an action: read from some servers, while others may steer the model. */
export interface Leak {
  /** Servers whose private data the conversation has seen. */
  readonly data: ReadonlyArray<string>
  /** Servers whose untrusted text the conversation has seen. */
  readonly untrusted: ReadonlyArray<string>
}

/** Key for the marks in a result's `_meta`. */
export const markKey = "effect-mcp/taint"

/** Maximum number of further servers that a server names as sources. */
const maxMarked = 16
const maxLength = 200

interface Seen {
  readonly data: Set<string>
  readonly untrusted: Set<string>
}

/** One result's sources. */
export interface TaintSource {
  readonly server: string
  /** True if the result may contain private data. */
  readonly isPrivate: boolean
  /** True if the result may contain untrusted text. */
  readonly isUntrusted: boolean
}

const namesIn = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value)
    ? value.filter((name) => typeof name === "string" && name.length <= maxLength).slice(0, maxMarked)
    : []

/** Adds a server of the program's table, and as many of the servers that it names as fit. */
const add = (names: Set<string>, server: string | undefined, behind: ReadonlyArray<string>, prefix: string): void => {
  if (server !== undefined) names.add(server)
  let room = maxMarked - [...names].filter((name) => name.startsWith(prefix)).length
  for (const name of behind) {
    if (names.has(name)) continue
    if (--room < 0) return
    names.add(name)
  }
}

/** The sources that each conversation has seen. */
export class Taint {
  private readonly of = memoize<HostConversation, Seen>(() => ({ data: new Set(), untrusted: new Set() }))

  /** Returns the sources that a conversation has seen. */
  seen(conversation: HostConversation): Leak {
    const { data, untrusted } = this.of(conversation)
    return { data: [...data].toSorted(), untrusted: [...untrusted].toSorted() }
  }

  /** Records a result that a conversation sees, and returns it with its marks. */
  observe(conversation: HostConversation, { isPrivate, isUntrusted, server }: TaintSource, result: unknown): unknown {
    if (!isJsonObject(result)) return result
    const { data, untrusted } = this.of(conversation)
    const meta = isJsonObject(result["_meta"]) ? result["_meta"] : {}
    const before = isJsonObject(meta[markKey]) ? meta[markKey] : {}
    const prefix = `${server}/`
    const behind = (field: "data" | "untrusted") => namesIn(before[field]).map((name) => `${prefix}${name}`)
    const mark = {
      data: [...(isPrivate ? [server] : []), ...behind("data")],
      untrusted: [...(isUntrusted ? [server] : []), ...behind("untrusted")]
    }
    add(data, isPrivate ? server : undefined, behind("data"), prefix)
    add(untrusted, isUntrusted ? server : undefined, behind("untrusted"), prefix)
    if (mark.data.length === 0 && mark.untrusted.length === 0) return result
    const marked: JsonObject = { ...result, _meta: { ...meta, [markKey]: mark } }
    return marked
  }

  /** Returns the possible leak if an action sends the conversation's data to a server, or `undefined` if there is nothing to leak. */
  leakOf(conversation: HostConversation): Leak | undefined {
    const seen = this.seen(conversation)
    return seen.data.length > 0 && seen.untrusted.length > 0 ? seen : undefined
  }
}

const images: ReadonlyArray<RegExp> = [
  // Images with an address, with a reference, and definitions of references.
  /!\[([^[\]]{0,500})\]\([^()\s]{0,4000}(?:\([^()\s]{0,4000}\)[^()\s]{0,4000})?(?:\s[^()]{0,500})?\)/g,
  /!\[([^[\]]{0,500})\]\[[^[\]]{0,200}\]/g,
  /<(?:img|image|video|audio|iframe|source|embed|object|link|picture|svg|style|script)\b[^>]{0,4000}>?/gi
]

/** The start of a tag that loads something, or of any tag with attributes, which may contain an address. */
const loading =
  /<(?=\/?(?:[a-z][a-z0-9-]*[\s/]|(?:img|image|video|audio|iframe|source|embed|object|link|picture|svg|style|script)\b))/gi

/**
 * Removes images and everything else that is loaded when a model's Markdown is displayed. An image's address can carry private data to its
 * server. Links stay, because a person has to follow them.
 */
export const withoutImages = (markdown: string): string =>
  images
    .reduce(
      (text, pattern) => text.replaceAll(pattern, (_, label: unknown) => (typeof label === "string" ? label : "")),
      markdown
    )
    // All other forms start with these characters.
    .replaceAll(/!(?=\[)/g, "")
    .replaceAll(loading, "&lt;")
