/**
 * An `Authorizer` for desktop programs. Opens the system browser and listens on the loopback interface for the redirect (RFC 8252).
 *
 * It only listens during an authorization. Any web page can send requests to it, so a request with a different path or `state` receives an
 * error page that echoes none of its content, and has no other effect.
 */
import { checkedEffect } from "@effect-mcp/core/internal/calling"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as ChildProcess from "effect/process/ChildProcess"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import { Authorizer, type RedirectFlow } from "./Authorizer.ts"
import { OAuthError } from "../shared/OAuthError.ts"

const path = "/callback"

const page = (status: number, text: string) =>
  HttpServerResponse.text(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${text}</title><body style="font:1.2em system-ui;margin:4em">${text}`,
    {
      status,
      contentType: "text/html; charset=utf-8",
      headers: {
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        "referrer-policy": "no-referrer",
        connection: "close"
      }
    }
  )

/** Options for the listener and the browser. */
export interface Options<E, R> {
  /** A server on a loopback port, such as `NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 })`. */
  readonly server: Layer.Layer<HttpServer.HttpServer, E, R>
  /** Opens the page for the user. */
  readonly open: (url: URL) => Effect.Effect<void, OAuthError>
  /** Host in the redirect URI. Some authorization servers only accept `localhost`. Default `127.0.0.1`. */
  readonly host?: "127.0.0.1" | "localhost" | undefined
  /** How long a login may take. Default 5 minutes. */
  readonly timeout?: Duration.Input | undefined
}

/** Creates an `Authorizer` that starts a listener for each authorization and calls `open` with the login page. */
export const layer = <E, R>(options: Options<E, R>): Layer.Layer<Authorizer, never, R> =>
  Layer.effect(
    Authorizer,
    Effect.map(Effect.context<R>(), (context) => ({
      open: Effect.gen(function* () {
        const server = yield* Layer.build(Layer.fresh(options.server)).pipe(
          Effect.provideContext(context),
          Effect.mapError(
            (cause) => new OAuthError({ step: "authorization", problem: "cannot open a port for the redirect", cause })
          )
        )
        const answer = yield* Deferred.make<URLSearchParams>()
        let expected: string | undefined
        const handler = Effect.gen(function* () {
          const { method, url } = yield* HttpServerRequest
          const { pathname, searchParams } = new URL(url, "http://localhost")
          if (method !== "GET" || pathname !== path) return page(404, "Not found.")
          if (expected === undefined || searchParams.get("state") !== expected)
            return page(400, "This page does not belong to the current login.")
          Deferred.doneUnsafe(answer, Effect.succeed(searchParams))
          return page(200, "Login complete. You can close this page and return to the program.")
        })
        yield* Effect.provideContext(HttpServer.serveEffect(handler), server)
        const { port } = yield* Effect.provideContext(
          HttpServer.addressFormattedWith((address) => Effect.succeed(new URL(address))),
          server
        )
        const flow: RedirectFlow = {
          redirectUri: `http://${options.host ?? "127.0.0.1"}:${port}${path}`,
          authorize: (url) =>
            Effect.suspend(() => {
              expected = url.searchParams.get("state") ?? undefined
              return Effect.andThen(checkedEffect("Loopback.open", options.open(url)), Deferred.await(answer))
            }).pipe(
              Effect.timeoutOrElse({
                duration: options.timeout ?? "5 minutes",
                orElse: () =>
                  Effect.fail(
                    new OAuthError({
                      step: "authorization",
                      problem: "the login timed out",
                      advice: "Try again, and complete the login in the browser."
                    })
                  )
              })
            )
        }
        return flow
      })
    }))
  )

/** Opens a page in the system browser, without a shell. Fails if no browser can be started. */
export const browse =
  (spawner: ChildProcessSpawner["Service"], platform: NodeJS.Platform = process.platform) =>
  (url: URL): Effect.Effect<void, OAuthError> => {
    const [command, ...args] =
      platform === "darwin"
        ? ["open", url.href]
        : platform === "win32"
          ? ["rundll32", "url.dll,FileProtocolHandler", url.href]
          : ["xdg-open", url.href]
    return Effect.scoped(
      Effect.flatMap(
        spawner.spawn(ChildProcess.make(command, args, { stdout: "ignore", stderr: "ignore" })),
        (child) => child.exitCode
      )
    ).pipe(
      Effect.mapError(
        (cause) =>
          new OAuthError({
            step: "authorization",
            problem: `could not start a browser with ${command}`,
            advice: "Log in over the terminal (`Authorizer.layerTerminal`).",
            cause
          })
      ),
      Effect.asVoid
    )
  }

/** Like `layer`, but opens the system browser. */
export const layerBrowser = <E, R>(
  options: Omit<Options<E, R>, "open">
): Layer.Layer<Authorizer, never, R | ChildProcessSpawner> =>
  Layer.unwrap(Effect.map(ChildProcessSpawner, (spawner) => layer({ ...options, open: browse(spawner) })))
