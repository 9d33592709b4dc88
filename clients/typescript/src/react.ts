'use client'
import { type ButtonHTMLAttributes, createElement, type ReactElement } from 'react'
import { openPayment, preloadWidget } from './widget.ts'
import type { Options } from './widget-types.ts'

type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, keyof Options | 'type' | 'onClick' | 'onPointerEnter'>

export interface PayButtonProps extends Options, ButtonProps {
  /** Where your Manilla runs. */
  baseUrl: string
  /** Your public client-id. */
  clientId: string
}

/** A button that opens the widget: `<PayButton baseUrl clientId reference onSuccess>Pay</PayButton>`. */
export function PayButton(props: PayButtonProps): ReactElement {
  const { baseUrl, clientId, reference, token, locale, theme, ...others } = props
  const { onLoad, onStatus, onSuccess, onCancel, onError, onClose, ...button } = others
  const options = { clientId, reference, token, locale, theme, onLoad, onStatus, onSuccess, onCancel, onError, onClose }
  return createElement('button', {
    ...button,
    type: 'button',
    onPointerEnter: () => preloadWidget(baseUrl),
    onClick: () => void openPayment(baseUrl, options),
  })
}
