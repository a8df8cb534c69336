/** The options of a request for the client below. */
import type { CallOptions } from "@effect-mcp/client/McpClient"
import { notify, type OnError, report } from "../model/report.ts"
import type { RequestOptions } from "./Options.ts"

/** `onerror` receives the error of an `onprogress` that throws. */
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
