/** The supported revisions, and small helpers of the SDK. */
import * as Revision from "@effect-mcp/protocol/Revision"

/** Newest first. */
export const SUPPORTED_PROTOCOL_VERSIONS: Array<string> = Revision.all.map(({ version }) => version).toReversed()

/** The newest revision with a handshake. */
export const LATEST_PROTOCOL_VERSION = "2025-11-25"

/** Keys in `_meta` of requests and results (2026-07-28). */
export {
  clientCapabilities as CLIENT_CAPABILITIES_META_KEY,
  clientInfo as CLIENT_INFO_META_KEY,
  logLevel as LOG_LEVEL_META_KEY,
  protocolVersion as PROTOCOL_VERSION_META_KEY,
  serverInfo as SERVER_INFO_META_KEY
} from "@effect-mcp/protocol/model/Meta"

/** Returns the name to display. */
export const getDisplayName = ({
  annotations,
  name,
  title
}: {
  name: string
  title?: string | undefined
  annotations?: { title?: string | undefined } | undefined
}): string => [title, annotations?.title].find((text) => text !== undefined && text !== "") ?? name

/** True if a `Content-Type` header declares JSON. */
export const isJsonContentType = (value: string | null | undefined): boolean =>
  /^application\/json\s*(;|$)/i.test((value ?? "").trim())
