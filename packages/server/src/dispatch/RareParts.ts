/**
 * What a server of tools for clients with sessions does not use: one module, loaded when the first part of it is needed.
 *
 * One module, since a bundler puts what several such modules share with the start into files of their own: each is compressed alone, and
 * they made the start of a small server larger than what it left out.
 */
export { remote as remoteInput } from "@effect-mcp/core/internal/RemoteInput"
export * as Spans from "@effect-mcp/core/internal/Spans"
export { MountedTools } from "../features/MountedTools.ts"
export { make as otherFeatures } from "../features/OtherFeatures.ts"
export { Settling } from "../features/Settling.ts"
export { SharedUpdates } from "../features/SharedUpdates.ts"
export { unsubscribe } from "../features/Subscriptions.ts"
export * as AeadSeal from "../mrtr/AeadSeal.ts"
export { combine } from "../view/allObservers.ts"
export { RequestReader } from "../view/RequestReader.ts"
export { readContract } from "../view/readContract.ts"
export { SessionObserver } from "../view/SessionObserver.ts"
export { NotificationRouter } from "./NotificationRouter.ts"
export { make as restore } from "./Restore.ts"
export { statelessEra } from "./statelessParts.ts"
