/** The state of a request (2026-07-28) as signed text, which travels to the client and back. */
import { createHmac, timingSafeEqual } from "node:crypto"
import { ProtocolError, ProtocolErrorCode } from "../model/errors.ts"
import type { ServerContext } from "./ServerContext.ts"

/** `C` is the context type of a handler. */
export interface RequestStateCodecOptions<C = ServerContext> {
  /** At least 32 bytes. */
  key: Uint8Array | string
  /** In seconds. Default 600. */
  ttlSeconds?: number | undefined
  /** Returns a value that the state is bound to, such as the user's id. `verify` rejects the state in a context with another value. */
  bind?: ((context: C) => string) | undefined
}

export interface RequestStateCodec<T, C = ServerContext> {
  /** Returns the signed text of a value. `context` is required if the codec has `bind`. */
  mint(value: T, context?: C): Promise<string>
  verify(state: string, context?: C): Promise<T>
}

const refused = (): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState")

const keyOf = (given: Uint8Array | string): Buffer => {
  const key = Buffer.from(given)
  if (key.length >= 32) return key
  throw new RangeError(
    `The key of createRequestStateCodec is only ${key.length} bytes long. Use at least 32 random bytes`
  )
}

/**
 * Signs the state of a request. `mint` returns the signed text, and `verify` returns the value; pass it as a server's
 * `requestState.verify`. Throws a `RangeError` if the key is too short.
 */
export const createRequestStateCodec = <T = unknown, C = ServerContext>({
  bind,
  key: given,
  ttlSeconds = 600
}: RequestStateCodecOptions<C>): RequestStateCodec<T, C> => {
  const key = keyOf(given)
  if (!Number.isFinite(ttlSeconds)) {
    throw new RangeError(`createRequestStateCodec: ttlSeconds must be a finite number, but is ${ttlSeconds}`)
  }
  const sign = (text: string): Buffer => createHmac("sha256", key).update(text).digest()
  const ownerOf = (context: C | undefined): string | undefined => {
    if (bind === undefined) return undefined
    if (context === undefined)
      throw new TypeError("This codec uses bind, so pass the handler's context as the second argument")
    return sign(`bind:${bind(context)}`).toString("base64url")
  }
  return {
    mint: async (value, context) => {
      const content = { value, until: Date.now() + ttlSeconds * 1000, owner: ownerOf(context) }
      const text = Buffer.from(JSON.stringify(content)).toString("base64url")
      return `${text}.${sign(text).toString("base64url")}`
    },
    verify: async (state, context) => {
      const [text = "", signature = ""] = state.split(".")
      const given = Buffer.from(signature, "base64url")
      const own = sign(text)
      if (given.length !== own.length || !timingSafeEqual(given, own)) throw refused()
      const { owner, until, value } = JSON.parse(Buffer.from(text, "base64url").toString())
      if (until < Date.now() || owner !== ownerOf(context)) throw refused()
      return value
    }
  }
}
