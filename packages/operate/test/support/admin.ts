/** Sends requests to an admin endpoint with `node:http`, which can send any header. */
import { Effect } from "effect"
import { request } from "node:http"

export const token = "token-of-the-operator"
export const readOnly = "token-that-may-see"

export interface Asked {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export const ask = (
  port: number,
  { body, headers = bearer(token), method = "GET", path = "/admin/requests" }: Asked = {}
) =>
  Effect.callback<{ readonly status: number | undefined; readonly text: string }>((resume) => {
    const sent = request({ port, host: "127.0.0.1", method, path, headers }, (response) => {
      let text = ""
      response.on("data", (part) => (text += part))
      response.on("end", () => resume(Effect.succeed({ status: response.statusCode, text })))
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

export const post = (port: number, route: string, body: unknown, more: Asked = {}) =>
  ask(port, {
    method: "POST",
    path: `/admin/${route}`,
    body,
    ...more,
    headers: { ...bearer(token), "content-type": "application/json", ...more.headers }
  })
