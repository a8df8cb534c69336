/** Asks the client questions: checks its capabilities, names each question and sends it. */
export { missingCapability } from "./question.ts"
export { questionKey, questionName } from "./questionKey.ts"
export { remote } from "./RemoteInput.ts"
