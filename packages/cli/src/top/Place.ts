/** Location of an admin endpoint: a URL, or one of the user's Unix sockets. Rejects locations that would reveal the token to others. */
import * as Effect from "effect/Effect"
import { lstatSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { text } from "node:stream/consumers"
import { type CommandFailure, usage } from "../terminal/Exit.ts"

export interface AdminRequest {
  /** Base of the endpoint's routes. */
  readonly path: string
  readonly method: "GET" | "POST"
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface EndpointPlace {
  /** For messages. */
  readonly name: string
  /** Fails as `fetch` does. */
  readonly ask: (
    asked: AdminRequest,
    signal: AbortSignal
  ) => Promise<{ readonly status: number; readonly text: string }>
}

/** True if nobody can read traffic to the URL in transit. */
const isPrivate = ({ hostname, protocol }: URL): boolean =>
  protocol === "https:" || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)

const atUrl = (url: string): EndpointPlace => {
  const base = url.replace(/\/$/, "")
  return {
    name: base,
    ask: async ({ body = null, headers, method, path }, signal) => {
      const response = await fetch(`${base}${path}`, { method, headers, body, redirect: "error", signal })
      return { status: response.status, text: await response.text() }
    }
  }
}

const atSocket = (socketPath: string, base: string): EndpointPlace => ({
  name: socketPath,
  ask: ({ body, headers, method, path }, signal) =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(
        { socketPath, path: `${base}${path}`, method, headers: { ...headers, host: "localhost" }, signal },
        (response) => {
          text(response).then((read) => resolve({ status: response.statusCode ?? 0, text: read }), reject)
        }
      )
      sent.on("error", reject)
      sent.end(body)
    })
})

/** File mode bits that grant access to the group and to others. */
const ofOthers = 0o077

/** Reason not to use a socket: others could read the data sent there, or answer in place of the server. */
const refusalOf = (path: string): CommandFailure | undefined => {
  const file = lstatSync(path, { throwIfNoEntry: false })
  if (file?.isSocket() !== true) return usage(`Not a Unix socket: ${path}. Use the path that the server listens on`)
  const user = process.getuid?.()
  if (user !== undefined && user !== 0 && file.uid !== user) {
    return usage(`The socket ${path} belongs to another user (${file.uid}). Run this as the same user as the server`)
  }
  if ((file.mode & ofOthers) === 0) return undefined
  const mode = (file.mode & 0o777).toString(8)
  return usage(
    `Other users can open the socket ${path} (mode ${mode}). Create it in the server with PrivateSocket.createServer`
  )
}

/** A path or `unix:` and a path, optionally followed by a colon and the path of the routes. */
const socketIn = (target: string): { readonly path: string; readonly base: string } | undefined => {
  const [, named, plain, base = "/admin"] =
    /^(?:unix:(?:\/\/)?([^:]+)|(\.{0,2}\/[^:]+))(?::(\/[^?#]*))?$/.exec(target) ?? []
  const path = named ?? plain
  return path === undefined ? undefined : { path, base: base.replace(/\/$/, "") }
}

/** The location on the command line. */
export const of = (target: string): Effect.Effect<EndpointPlace, CommandFailure> =>
  Effect.suspend(() => {
    const socket = socketIn(target)
    if (socket !== undefined) {
      const refusal = refusalOf(socket.path)
      return refusal === undefined ? Effect.succeed(atSocket(socket.path, socket.base)) : Effect.fail(refusal)
    }
    if (!URL.canParse(target) || !/^https?:/i.test(target)) {
      const examples = "Use http://127.0.0.1:9464/admin, or the path of a Unix socket"
      return Effect.fail(usage(`Not the URL of an admin endpoint: ${target}. ${examples}`))
    }
    if (isPrivate(new URL(target))) return Effect.succeed(atUrl(target))
    return Effect.fail(
      usage(
        `The token would be sent to ${target} unencrypted. Use https, or a tunnel: ssh -L 9464:127.0.0.1:9464 HOST, then http://127.0.0.1:9464/admin`
      )
    )
  })
