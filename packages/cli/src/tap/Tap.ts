/** Forwards traffic unchanged while an ear listens: over stdio for a process, over HTTP for a URL. */
import * as Effect from "effect/Effect"
import { usage } from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import type { Settings } from "../target/Settings.ts"
import type { CommandTarget } from "../target/Target.ts"
import type { Ears } from "./Ear.ts"

/** The address of the proxy in front of an HTTP server. */
export interface TapAddress {
  readonly port: number | undefined
  readonly host: string | undefined
  /** True if the server has a URL. */
  readonly isHttp: boolean
}

const isUrl = (word: string | undefined): boolean => word !== undefined && /^https?:\/\//i.test(word)

/** Returns the address from the flags. Ends with exit code 2 if they don't suit the server. */
export const placeOf = Effect.fnUntraced(function* (
  { words: [first, ...more] = [] }: CommandTarget,
  { host, port }: Omit<TapAddress, "isHttp">
) {
  const isHttp = isUrl(first)
  if (isHttp && more.length > 0) return yield* usage(`A URL does not take arguments: ${more.join(" ")}`)
  if (isHttp && !URL.canParse(first ?? "")) return yield* usage(`${first} is not a URL`)
  if (!isHttp && (port !== undefined || host !== undefined)) {
    return yield* usage("--port and --host need a server at a URL. A command is served over stdin and stdout")
  }
  const place: TapAddress = { host, port, isHttp }
  return place
})

/** Forwards until the server exits or this is interrupted. */
export const serve = Effect.fnUntraced(function* (
  server: CommandTarget,
  settings: Settings,
  place: TapAddress,
  ears: Ears
) {
  const [command, ...args] = server.words ?? []
  if (command === undefined)
    return yield* usage(`${server.name} has no command. Put the server's command or its URL after --`)
  if (!place.isHttp) {
    const Lines = yield* Effect.promise(() => import("./Lines.ts"))
    return yield* Lines.serve([command, ...args], settings, ears.lines())
  }
  const output = yield* Output
  const Http = yield* Effect.promise(() => import("./Http.ts"))
  return yield* Http.serve(command, ears.http(), {
    headers: settings.headers,
    port: place.port ?? 0,
    host: place.host ?? "127.0.0.1",
    announce: (url) => output.note(`Serving ${server.name} at ${url}`)
  })
})
