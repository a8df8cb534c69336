/** Codecs for a revision's methods, derived from `MethodInfo`. Each codec is created on first use. */
import type * as Schema from "effect/Schema"
import { lazy } from "../internal/lazy.ts"
import * as MethodInfo from "../model/MethodInfo.ts"
import type { Version } from "../model/Version.ts"
import { type PerRevision, perRevision, type Select } from "./PerRevision.ts"
import type { MethodCodec, Revision } from "./types.ts"

type Canonical = Schema.Codec<unknown>
type Wire = Schema.Codec<unknown, unknown>

/** Methods with the same schema share codecs. */
const known = new Map<Canonical, PerRevision<unknown>>()
const codecsOf = (schema: Canonical): PerRevision<unknown> => {
  const codecs = known.get(schema) ?? perRevision(schema)
  known.set(schema, codecs)
  return codecs
}

/** Wraps the codec of a final result for one revision. */
type End = (info: MethodInfo.ClientRequestInfo, result: Wire) => Wire

const requestCodec = (
  { params, result }: MethodInfo.RequestSchemas,
  of: Select,
  end: (result: Wire) => Wire
): MethodCodec<unknown, unknown> => {
  const ended = lazy(() => end(of(codecsOf(result))))
  return {
    get params() {
      return of(codecsOf(params))
    },
    get result() {
      return ended()
    }
  }
}

const same = <A>(value: A): A => value

/** Builds a table with an entry for each method in the version. */
const tableOf = <Info extends MethodInfo.Dated>(
  rows: { readonly [method: string]: Info },
  version: Version,
  member: (info: Info) => PropertyDescriptor
) =>
  Object.defineProperties(
    {},
    Object.fromEntries(
      Object.entries(rows).flatMap(([method, info]) =>
        MethodInfo.isIn(info, version) ? [[method, { enumerable: true, ...member(info) }]] : []
      )
    )
  )

/** Returns a version's codecs, grouped by message type. */
export const methodCodecs = (
  version: Version,
  of: Select,
  end: End = (_info, result) => result
): Pick<Revision, "clientNotifications" | "clientRequests" | "serverNotifications" | "serverRequests"> => {
  const notification = ({ params }: { readonly params: Canonical }) => ({ get: () => of(codecsOf(params)) })
  return {
    clientRequests: tableOf<MethodInfo.ClientRequestInfo>(MethodInfo.clientRequests, version, (info) => ({
      value: requestCodec(info, of, (result) => end(info, result))
    })),
    serverRequests: tableOf<MethodInfo.ServerRequestInfo>(MethodInfo.serverRequests, version, (info) => ({
      value: requestCodec(info, of, same)
    })),
    clientNotifications: tableOf(MethodInfo.clientNotifications, version, notification),
    serverNotifications: tableOf(MethodInfo.serverNotifications, version, notification)
  }
}
