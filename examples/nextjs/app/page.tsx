export default function Product() {
  return (
    <form method="post" action="/pay">
      <h1>Adire scarf</h1>
      <button type="submit">Pay ₦12,500.00</button>
    </form>
  )
}
