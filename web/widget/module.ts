import { widgetFrom } from './pay.ts'

export const { open, preload } = widgetFrom(import.meta.url)
