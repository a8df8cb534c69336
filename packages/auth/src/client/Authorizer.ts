/**
 * Opens the authorization server's page for the user and returns the response.
 *
 * The application provides this service for a browser, a terminal or a test. It doesn't check URLs; the grant checks the response.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Terminal from "effect/Terminal"
import { parseUrl } from "../shared/url.ts"
import { OAuthError, shown } from "../shared/OAuthError.ts"

/** A single authorization: the redirect to the authorization server and back. */
export interface RedirectFlow {
  /** The redirect URI for this authorization. */
  readonly redirectUri: string
  /** Opens `url` for the user and waits for the redirect with the same `state`. Returns its parameters. */
  readonly authorize: (url: URL) => Effect.Effect<URLSearchParams, OAuthError>
}

/** Opens redirect flows. Fails with an `OAuthError` if there is no user to ask. */
export class Authorizer extends Context.Service<
  Authorizer,
  {
    /** Opens a flow that closes with the scope. */
    readonly open: Effect.Effect<RedirectFlow, OAuthError, Scope.Scope>
  }
>()("@effect-mcp/auth/Authorizer") {}

/** For programs without a user. Every authorization fails with an `OAuthError` saying so. */
export const layerNone: Layer.Layer<Authorizer> = Layer.succeed(Authorizer, {
  open: Effect.fail(
    new OAuthError({
      step: "authorization",
      problem: "the server requires a user to log in, but this program cannot prompt one",
      advice: "Log in interactively first (`effect-mcp login URL`), or use a machine-to-machine grant."
    })
  )
})

const maxPages = 10

/**
 * For tests: follows redirects from an authorization server that asks no questions. Stops at the redirect to `redirectUri` without visiting
 * it.
 */
export const layerScripted = (options?: {
  /** Default `http://127.0.0.1/callback`. */
  readonly redirectUri?: string | undefined
}): Layer.Layer<Authorizer, never, HttpClient.HttpClient> =>
  Layer.effect(
    Authorizer,
    Effect.map(HttpClient.HttpClient, (http) => {
      const redirectUri = options?.redirectUri ?? "http://127.0.0.1/callback"
      const fail = (url: URL, problem: string, status?: number) =>
        new OAuthError({ step: "authorization", problem, url: shown(url), status })
      const visit = (url: URL, pages: number): Effect.Effect<URLSearchParams, OAuthError> =>
        Effect.gen(function* () {
          const { status, headers } = yield* Effect.mapError(http.execute(HttpClientRequest.get(url)), () =>
            fail(url, "cannot reach the login page")
          )
          const target = headers["location"] === undefined ? undefined : parseUrl(headers["location"], url.href)
          if (target === undefined || pages === maxPages)
            return yield* fail(url, "the login page did not redirect back", status)
          const back = target.href.startsWith(`${redirectUri}?`) || target.href === redirectUri
          return back ? target.searchParams : yield* visit(target, pages + 1)
        })
      return {
        open: Effect.succeed({
          redirectUri,
          authorize: (url: URL) =>
            Effect.provideService(visit(url, 0), FetchHttpClient.RequestInit, { redirect: "manual" })
        })
      }
    })
  )

/**
 * For machines without a browser, for example over SSH. Shows the URL in the terminal, and asks the user to paste the address where the
 * browser ends up. Nothing listens at that address, so the browser shows an error page, but the address is all that is needed.
 */
export const layerTerminal = (options?: {
  /** Default `http://127.0.0.1:33418/callback`. */
  readonly redirectUri?: string | undefined
}): Layer.Layer<Authorizer, never, Terminal.Terminal> =>
  Layer.effect(
    Authorizer,
    Effect.map(Terminal.Terminal, (terminal) => {
      const redirectUri = options?.redirectUri ?? "http://127.0.0.1:33418/callback"
      const failed = (cause: unknown) =>
        new OAuthError({
          step: "authorization",
          problem: "the terminal was closed before the login was complete",
          cause
        })
      const ask = (url: URL): Effect.Effect<URLSearchParams, OAuthError> =>
        Effect.gen(function* () {
          yield* Effect.mapError(
            terminal.display("Paste the address that your browser shows after the login: "),
            failed
          )
          const line = (yield* Effect.mapError(terminal.readLine, failed)).trim()
          const answer = parseUrl(line)?.searchParams
          if (answer?.get("state") === url.searchParams.get("state")) return answer
          yield* Effect.mapError(
            terminal.display(`That address is not from this login. Expected ${excerpt(redirectUri)}?...\n`),
            failed
          )
          return yield* ask(url)
        })
      return {
        open: Effect.succeed({
          redirectUri,
          authorize: (url: URL) =>
            Effect.andThen(
              Effect.mapError(terminal.display(`Open this page in a browser and log in:\n\n  ${url.href}\n\n`), failed),
              ask(url)
            )
        })
      }
    })
  )
