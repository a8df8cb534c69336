/** Loads HTTP with SSE, which only few servers still speak. */
import { imported } from "../../internal/Late.ts"

export const loadSse = imported(() => import("./SseTransport.ts"))
