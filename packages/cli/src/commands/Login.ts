/** `effect-mcp login`, `logout`, `whoami`: the user's logins to HTTP servers. */
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
  Argument.withDescription("The server's URL; can also be put after --"),
  Argument.optional
)

/** Returns the URL on the command line, before or after `--`. */
const serverOf = Effect.fnUntraced(function* (given: Option.Option<string>) {
  const { target } = yield* SelectedServer
  const text = Option.getOrUndefined(given) ?? target?.name
  if (text === undefined) return yield* usage("No server given. Example: effect-mcp login https://example.com/mcp")
  if (!URL.canParse(text) || !/^https?:/i.test(text)) return yield* usage(`Not the URL of a server: ${text}`)
  return text
})

/** Runs `body` with the user's logins. */
const use = Effect.fnUntraced(function* <A>(
  options: Options,
  body: (oauth: OAuth.OAuth["Service"]) => Effect.Effect<A, OAuthError>
) {
  // Loaded on demand, because other commands may not need HTTP.
  const Logins = yield* Effect.promise(() => import("../target/Logins.ts"))
  return yield* Effect.mapError(Logins.use(options, body), fromOAuth)
})

const lasts = ({ expiresAt, refreshable }: OAuth.Login, now: number): string => {
  if (expiresAt === undefined) return "at an unknown time"
  const seconds = Math.abs(Math.round((expiresAt - now) / 1000))
  const when = expiresAt > now ? `in ${seconds} s` : `${seconds} s ago`
  return refreshable ? `${when}, and is renewed automatically` : when
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
    Flag.withDescription(
      "Print the login page's address, and ask for the address where the browser ends: for use over SSH"
    ),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  port: Flag.Int("port").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("The port for the redirect after login. Default: any free port"),
    Flag.optional
  ),
  clientId: Flag.String("client-id").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("The id of a manually registered client; its secret, if any, in EFFECT_MCP_CLIENT_SECRET"),
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
  Command.withDescription("Log in to an HTTP server, in the browser"),
  Command.withExamples([{ command: "effect-mcp login https://example.com/mcp" }])
)

export const logout = Command.make(
  "logout",
  { url },
  Effect.fnUntraced(function* ({ url }) {
    const server = yield* serverOf(url)
    const output = yield* Output
    const was = yield* use({ tell: undefined }, (oauth) => oauth.logout(server))
    yield* output.note(was ? "Logged out" : "There was no login to remove")
  })
).pipe(Command.withDescription("Log out: revokes and deletes the tokens"))

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
).pipe(Command.withDescription("Show the login for a server and when it expires; sends nothing"))
