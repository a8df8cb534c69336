/**
 * What a client that connects to a server, calls a tool by its contract and closes does not run: one module, loaded when the first part of
 * it is needed.
 *
 * One module, since a bundler puts what several such modules share with the start into files of their own, each compressed alone.
 */
export { latestStateful } from "@effect-mcp/protocol/Revision"
export { answerRounds, answers, retryRound } from "../connection/InputRounds.ts"
export { makeHost } from "../connection/makeHost.ts"
export { initialize } from "../connection/Negotiation.ts"
export { make as statefulEra } from "../connection/StatefulEra.ts"
export { make as statelessMemory } from "../connection/StatelessMemory.ts"
export { parts as extensionParts } from "../extension/ClientExtension.ts"
export { declare as declareExtensions, make as extensionsInUse } from "../extension/InUse.ts"
export { make as makeExtensions } from "../features/Extensions.ts"
export { make as makeLists } from "../features/ServerLists.ts"
export { make as taskCalls } from "../features/TaskCalls.ts"
export { make as makeWatch } from "../features/Watch.ts"
export { retry } from "../reconnect/RequestRetry.ts"
export { attend } from "../tasks/Attendance.ts"
export { besideOwn, tasksInUse } from "../tasks/TaskParts.ts"
