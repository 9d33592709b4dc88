// A shop with one product. `npm start` beside a running Manilla, then open http://localhost:8080.
import { Manilla } from '@manilla/client'

const { CLIENT_ID = '', CLIENT_SECRET = '' } = process.env
const { MANILLA = 'http://localhost:3000', PORT = '8080' } = process.env
export const shop = `http://localhost:${PORT}`
export const manilla = new Manilla({ baseUrl: MANILLA, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET })
export const price = { amount: 1_250_000, currency: 'NGN' } // in kobo: ₦12,500.00
