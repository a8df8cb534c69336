/** Runs registered handlers in the context of their layers. */
export { deferred, type HandledRequest, HandlerContext, HandlerScheduler, returningTo } from "./HandlerContext.ts"
export { LazyContext, service, ServiceTable } from "../internal/LazyContext.ts"
export * as Providing from "./Provided.ts"
export { Provided, ProvidedServices } from "./Provided.ts"
export { isPending } from "../contract/ToolDescriptor.ts"
export { registrationLayer, Site, siteOf } from "./registration.ts"
