/** Where an admin endpoint is: at a URL, or at a Unix socket of the user of the command. Refuses places where others learn the token. */
import * as Effect from "effect/Effect"
import { lstatSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { text } from "node:stream/consumers"
import { type CommandFailure, usage } from "../terminal/Exit.ts"

export interface AdminRequest {
  /** Below the routes of the endpoint. */
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

/** Whether nothing on the way to a URL can read what is sent there. */
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

/** The bits of a file's mode that are rights of its group and of others. */
const ofOthers = 0o077

/** Why a socket is not asked: others could read what is sent there, or answer in place of the server. */
const refusalOf = (path: string): CommandFailure | undefined => {
  const file = lstatSync(path, { throwIfNoEntry: false })
  if (file?.isSocket() !== true) return usage(`Not a Unix socket: ${path}. Write the path that the server listens on`)
  const user = process.getuid?.()
  if (user !== undefined && user !== 0 && file.uid !== user) {
    return usage(`The socket ${path} belongs to another user (${file.uid}). Run this as the user of the server`)
  }
  if ((file.mode & ofOthers) === 0) return undefined
  const mode = (file.mode & 0o777).toString(8)
  return usage(
    `Others can open the socket ${path} (mode ${mode}). The server is to make it by PrivateSocket.createServer`
  )
}

/** A path, `unix:` and a path, or both with a colon and the path of the routes. */
const socketIn = (target: string): { readonly path: string; readonly base: string } | undefined => {
  const [, named, plain, base = "/admin"] =
    /^(?:unix:(?:\/\/)?([^:]+)|(\.{0,2}\/[^:]+))(?::(\/[^?#]*))?$/.exec(target) ?? []
  const path = named ?? plain
  return path === undefined ? undefined : { path, base: base.replace(/\/$/, "") }
}

/** The place that the command line names. */
export const of = (target: string): Effect.Effect<EndpointPlace, CommandFailure> =>
  Effect.suspend(() => {
    const socket = socketIn(target)
    if (socket !== undefined) {
      const refusal = refusalOf(socket.path)
      return refusal === undefined ? Effect.succeed(atSocket(socket.path, socket.base)) : Effect.fail(refusal)
    }
    if (!URL.canParse(target) || !/^https?:/i.test(target)) {
      const examples = "Write http://127.0.0.1:9464/admin, or the path of a Unix socket"
      return Effect.fail(usage(`Not the URL of an admin endpoint: ${target}. ${examples}`))
    }
    if (isPrivate(new URL(target))) return Effect.succeed(atUrl(target))
    return Effect.fail(
      usage(
        `The token would be read on its way to ${target}. Use https, or a tunnel: ssh -L 9464:127.0.0.1:9464 HOST, then http://127.0.0.1:9464/admin`
      )
    )
  })
