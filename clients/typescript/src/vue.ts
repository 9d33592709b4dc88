import { defineComponent, h, type PropType } from 'vue'
import { openPayment, preloadWidget } from './widget.ts'
import type { Failure, Options, Result } from './widget-types.ts'

/** A button that opens the widget: `<PayButton :base-url :client-id :reference @success>Pay</PayButton>`. */
export const PayButton = defineComponent({
  name: 'PayButton',
  props: {
    /** Where your Manilla runs. */
    baseUrl: { type: String, required: true },
    /** Your public client-id. */
    clientId: { type: String, required: true },
    reference: { type: String, required: true },
    token: String,
    locale: String,
    theme: String as PropType<Options['theme']>,
  },
  emits: {
    load: () => true,
    status: (_result: Result) => true,
    success: (_result: Result) => true,
    cancel: (_result: Result) => true,
    error: (_failure: Failure) => true,
    close: (_result: Result) => true,
  },
  setup(props, { emit, slots }) {
    const open = () => {
      const { baseUrl, ...payment } = props
      return openPayment(baseUrl, {
        ...payment,
        onLoad: () => emit('load'),
        onStatus: (result) => emit('status', result),
        onSuccess: (result) => emit('success', result),
        onCancel: (result) => emit('cancel', result),
        onError: (failure) => emit('error', failure),
        onClose: (result) => emit('close', result),
      })
    }
    const preload = () => preloadWidget(props.baseUrl)
    return () => h('button', { type: 'button', onPointerenter: preload, onClick: open }, slots.default?.())
  },
})
