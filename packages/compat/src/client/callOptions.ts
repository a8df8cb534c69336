/** Options for a request, as the underlying client expects them. */
import type { CallOptions } from "@effect-mcp/client/McpClient"
import { notify, type OnError, report } from "../model/report.ts"
import type { RequestOptions } from "./Options.ts"

/** Converts a request's options. `onerror` receives the errors that `onprogress` throws. */
export const callOptions = (
  { cacheMode, maxTotalTimeout, onprogress, resetTimeoutOnProgress, timeout }: RequestOptions = {},
  onerror: OnError
): CallOptions => ({
  timeout,
  maxTotal: maxTotalTimeout,
  resetOnProgress: resetTimeoutOnProgress,
  fresh: cacheMode !== undefined && cacheMode !== "use",
  ...(onprogress && {
    onProgress: ({ message, progress, total }) =>
      notify(
        () => onprogress({ progress, total, message }),
        (error) => report(onerror, error)
      )
  })
})
