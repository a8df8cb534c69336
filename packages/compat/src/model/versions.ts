/** The revisions that are spoken, and small functions of the SDK about values. */
import * as Revision from "@effect-mcp/protocol/Revision"

/** Newest first. */
export const SUPPORTED_PROTOCOL_VERSIONS: Array<string> = Revision.all.map(({ version }) => version).toReversed()

/** The newest revision with a handshake. */
export const LATEST_PROTOCOL_VERSION = "2025-11-25"

/** The name to show. */
export const getDisplayName = ({
  annotations,
  name,
  title
}: {
  name: string
  title?: string | undefined
  annotations?: { title?: string | undefined } | undefined
}): string => title ?? annotations?.title ?? name

/** Whether the value of a `Content-Type` header says JSON. */
export const isJsonContentType = (value: string | null | undefined): boolean =>
  /^application\/json\s*(;|$)/i.test((value ?? "").trim())
