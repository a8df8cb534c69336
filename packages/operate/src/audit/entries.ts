/** Turns server events into audit trail entries. Client text is truncated, and arguments are omitted unless enabled. */
import { digest, shownId } from "@effect-mcp/core/internal/digest"
import { errorTypeOf } from "@effect-mcp/core/internal/peers"
import type { Principal } from "@effect-mcp/core/Principal"
import { beginning, withoutSecrets } from "@effect-mcp/protocol/Excerpt"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as ResultType from "@effect-mcp/protocol/ResultType"
import type { Observer, QuestionEnd, RequestEnd } from "@effect-mcp/server/Observer"
import type { Session } from "@effect-mcp/server/McpServer"
import * as Exit from "effect/Exit"
import type { Actor, AuditEntry, AuditOutcome } from "./Record.ts"

/** Whether to record call arguments. Values of the object members listed in `redact` are redacted at any depth. */
export interface AuditedArguments {
  readonly redact: ReadonlyArray<string>
}

type Caller = Pick<Principal["Service"], "claims" | "subject"> | undefined

const issuerOf = (principal: Caller): string | undefined => {
  const issuer = principal?.claims["iss"]
  return typeof issuer === "string" ? issuer : undefined
}

const clientOf = (info: unknown): string | undefined =>
  isJsonObject(info) && typeof info["name"] === "string"
    ? beginning(`${info["name"]} ${typeof info["version"] === "string" ? info["version"] : ""}`.trim())
    : undefined

const sessionOf = ({ duplex, id, sessionless }: Session): string | undefined =>
  sessionless ? undefined : duplex ? id : digest(id)

export const actorOf = (
  principal: Caller,
  session: Session | undefined,
  more: { readonly address?: string | undefined; readonly transport?: string | undefined; readonly meta?: unknown }
): Actor => {
  const declared = isJsonObject(more.meta) ? clientOf(more.meta[Meta.clientInfo]) : undefined
  return {
    subject: principal?.subject,
    issuer: issuerOf(principal),
    client: declared ?? clientOf(session?.negotiated?.clientInfo),
    session: session && sessionOf(session),
    address: more.address,
    transport: more.transport ?? session?.kind
  }
}

export const targetOf = ({ name, uri }: JsonObject): string | undefined =>
  typeof name === "string" ? beginning(name) : typeof uri === "string" ? beginning(withoutSecrets(uri)) : undefined

const largest = 16 * 1024

export const redacted = (value: unknown, { redact }: AuditedArguments): JsonObject => {
  const text = JSON.stringify(value, (key, inner: unknown) => (redact.includes(key) ? "[redacted]" : inner))
  if (text === undefined) return {}
  return { arguments: text.length > largest ? "[too large]" : JSON.parse(text) }
}

const refusals = new Set([McpError.Unauthorized, McpError.Forbidden, McpError.LimitExceeded].map(String))

/** `interrupted` is the reason if an operator interrupted it. */
export const outcomeOf = (
  exit: Exit.Exit<unknown, unknown>,
  interrupted?: string
): { readonly outcome: AuditOutcome; readonly code?: number } => {
  if (interrupted !== undefined && Exit.isFailure(exit)) return { outcome: "interrupted" }
  const error = errorTypeOf(exit)
  if (error === undefined) {
    return { outcome: Exit.isSuccess(exit) && ResultType.isInputRequired(exit.value) ? "asked" : "answered" }
  }
  if (error === "tool_error") return { outcome: "tool_failed" }
  if (error === "cancelled") return { outcome: "cancelled" }
  const code = /^-?\d+$/.test(error) ? { code: Number(error) } : undefined
  return { outcome: refusals.has(error) ? "refused" : "failed", ...code }
}

export const rounded = (milliseconds: number): number => Math.round(milliseconds * 1000) / 1000

const requestEntry = (
  { duration, envelope, interrupted, principal, request, session, transport }: RequestEnd,
  exit: Exit.Exit<unknown, unknown>,
  recorded: AuditedArguments | undefined
): AuditEntry => {
  const { id, method, params = {} } = request
  const ended = outcomeOf(exit, interrupted)
  const details = {
    ...(ended.outcome === "interrupted" && interrupted !== undefined ? { reason: interrupted } : undefined),
    ...(recorded && params["arguments"] !== undefined ? redacted(params["arguments"], recorded) : undefined)
  }
  return {
    event: "request",
    actor: actorOf(principal, session, { address: envelope.address, transport, meta: params["_meta"] }),
    method: beginning(method),
    target: targetOf(params),
    id: beginning(String(id)),
    ...ended,
    ms: rounded(duration),
    details: Object.keys(details).length === 0 ? undefined : details
  }
}

const questionEntry = ({ duration, method, session }: QuestionEnd, exit: Exit.Exit<unknown, unknown>): AuditEntry => ({
  event: "question",
  actor: actorOf(session.principal, session, {}),
  method: beginning(method),
  ...outcomeOf(exit),
  ms: rounded(duration)
})

const notificationEntry = (
  { method }: JsonRpc.Notification,
  session: Session,
  address: string | undefined
): AuditEntry => ({
  event: "notification",
  actor: actorOf(session.principal, session, { address }),
  method: beginning(method),
  outcome: "received"
})

/** Records all of a server's events. */
export const observer = (
  note: (entry: AuditEntry) => unknown,
  admit: Observer["admit"],
  recorded: AuditedArguments | undefined
): Observer => ({
  admit,
  request: (end, exit) => void note(requestEntry(end, exit, recorded)),
  question: (end, exit) => void note(questionEntry(end, exit)),
  notification: (notification, session, { address }) => void note(notificationEntry(notification, session, address)),
  opened: (session) =>
    session.sessionless || void note({ event: "session.opened", actor: actorOf(session.principal, session, {}) }),
  closed: (session) =>
    session.sessionless || void note({ event: "session.closed", actor: actorOf(session.principal, session, {}) }),
  task: ({ age, id, principal, reason, state, tool }) =>
    void note({
      event: `task.${state}`,
      actor: { subject: principal?.subject, issuer: issuerOf(principal) },
      target: tool,
      id: shownId(id, principal),
      ms: age,
      details: reason === undefined ? undefined : { reason: beginning(reason) }
    }),
  refused: ({ address, method, principal, status }) =>
    void note({
      event: "refusal",
      actor: actorOf(principal, undefined, { address, transport: "http" }),
      method,
      outcome: "refused",
      code: status
    })
})
