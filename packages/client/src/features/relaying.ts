/** Parts of a client that forwards requests for others, as a gateway does. */
export { type Created, CurrentTaskHandling } from "../tasks/TaskHandling.ts"
export * as Declaration from "../connection/Declaration.ts"
export { areTold } from "../answering/UrlElicitations.ts"
