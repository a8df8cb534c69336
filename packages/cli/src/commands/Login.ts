/** `effect-mcp login`, `logout`, `whoami`: the user's logins at servers behind HTTP. */
import type * as OAuth from "@effect-mcp/auth/client/OAuth"
import type { OAuthError } from "@effect-mcp/auth/OAuthError"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { fromOAuth, silent, code, usage } from "../terminal/Exit.ts"
import type { Options } from "../target/Logins.ts"
import { Output } from "../terminal/Output.ts"
import { json, table } from "../render/Text.ts"
import { SelectedServer } from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"
import { safeLine } from "../terminal/Style.ts"

const url = Argument.String("url").pipe(
  Argument.withDescription("The server's URL; also taken after --"),
  Argument.optional
)

/** The URL of this command line, wherever it stands. */
const serverOf = Effect.fnUntraced(function* (given: Option.Option<string>) {
  const { target } = yield* SelectedServer
  const text = Option.getOrUndefined(given) ?? target?.name
  if (text === undefined) return yield* usage("No server: effect-mcp login https://example.com/mcp")
  if (!URL.canParse(text) || !/^https?:/i.test(text)) return yield* usage(`Not the URL of a server: ${text}`)
  return text
})

/** Runs `body` with the logins of this user. */
const use = Effect.fnUntraced(function* <A>(
  options: Options,
  body: (oauth: OAuth.OAuth["Service"]) => Effect.Effect<A, OAuthError>
) {
  // Loaded when needed: the other commands may need no HTTP.
  const Logins = yield* Effect.promise(() => import("../target/Logins.ts"))
  return yield* Effect.mapError(Logins.use(options, body), fromOAuth)
})

const lasts = ({ expiresAt, refreshable }: OAuth.Login, now: number): string => {
  if (expiresAt === undefined) return "not known when"
  const seconds = Math.abs(Math.round((expiresAt - now) / 1000))
  const when = expiresAt > now ? `in ${seconds} s` : `${seconds} s ago`
  return refreshable ? `${when}, and is renewed by itself` : when
}

const rows = (login: OAuth.Login, now: number): ReadonlyArray<ReadonlyArray<string>> => [
  ["server", safeLine(login.server)],
  ["logged in at", safeLine(login.issuer)],
  ["as client", safeLine(login.clientId ?? "")],
  ["scopes", safeLine(login.scopes.join(" ")) || "none named"],
  ["token expires", lasts(login, now)],
  ["bound to a key", login.bound ? "yes (DPoP)" : "no"]
]

const show = Effect.fnUntraced(function* (login: OAuth.Login) {
  const output = yield* Output
  const settings = yield* Settings.settings
  const now = yield* Clock.currentTimeMillis
  yield* output.line(settings.json ? json(login) : table(rows(login, now)))
})

const loginFlags = {
  url,
  noBrowser: Flag.Boolean("no-browser").pipe(
    Flag.withDescription("Show the login page's address, and take the one that the browser ends at: for use over SSH"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  port: Flag.Int("port").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("The port that the login comes back to. Default: any that is free"),
    Flag.optional
  ),
  clientId: Flag.String("client-id").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("A client that was registered by hand; its secret, if any, in EFFECT_MCP_CLIENT_SECRET"),
    Flag.optional
  )
}

export const login = Command.make(
  "login",
  loginFlags,
  Effect.fnUntraced(function* ({ clientId, noBrowser, port, url }) {
    const server = yield* serverOf(url)
    const output = yield* Output
    const secret = process.env["EFFECT_MCP_CLIENT_SECRET"]
    const options: Options = {
      tell: output.note,
      paste: noBrowser,
      port: Option.getOrUndefined(port),
      client: Option.getOrUndefined(
        Option.map(clientId, (id) => ({ id, secret: secret === undefined ? undefined : Redacted.make(secret) }))
      )
    }
    yield* show(yield* use(options, (oauth) => oauth.login(server)))
  })
).pipe(
  Command.withDescription("Log in at a server behind HTTP, in the browser"),
  Command.withExamples([{ command: "effect-mcp login https://example.com/mcp" }])
)

export const logout = Command.make(
  "logout",
  { url },
  Effect.fnUntraced(function* ({ url }) {
    const server = yield* serverOf(url)
    const output = yield* Output
    const was = yield* use({ tell: undefined }, (oauth) => oauth.logout(server))
    yield* output.note(was ? "Logged out" : "There was no login")
  })
).pipe(Command.withDescription("End a login: its tokens are revoked and forgotten"))

export const whoami = Command.make(
  "whoami",
  { url },
  Effect.fnUntraced(function* ({ url }) {
    const server = yield* serverOf(url)
    const output = yield* Output
    const found = yield* use({ tell: undefined }, (oauth) => oauth.whoami(server))
    if (found !== undefined) return yield* show(found)
    yield* output.note("Not logged in")
    return yield* silent(code.server)
  })
).pipe(Command.withDescription("Show the login at a server, and how long it lasts; sends nothing"))
