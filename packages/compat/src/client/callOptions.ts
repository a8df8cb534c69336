/** The options of a request for the client below. */
import type { CallOptions } from "@effect-mcp/client/McpClient"
import type { RequestOptions } from "./Options.ts"

export const callOptions = ({
  cacheMode,
  maxTotalTimeout,
  onprogress,
  resetTimeoutOnProgress,
  timeout
}: RequestOptions = {}): CallOptions => ({
  timeout,
  maxTotal: maxTotalTimeout,
  resetOnProgress: resetTimeoutOnProgress,
  fresh: cacheMode !== undefined && cacheMode !== "use",
  ...(onprogress && { onProgress: ({ message, progress, total }) => onprogress({ progress, total, message }) })
})
