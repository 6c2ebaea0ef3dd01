package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertAmount;
import static com.acme.billing.testkit.Assertions.assertEquals;
import static com.acme.billing.testkit.Assertions.assertThrows;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.LineItem;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.util.List;

public final class InvoiceTest {

    private final Invoice invoice = Invoice.open("inv-1", "cus-1", List.of(
        new LineItem("seats", 3, new BigDecimal("12.50")),
        new LineItem("discount", 1, new BigDecimal("-2.50"))), new BigDecimal("6.65"));

    @Test
    public void totalIsLinesPlusTax() {
        assertAmount("35.00", invoice.subtotal());
        assertAmount("41.65", invoice.total());
    }

    @Test
    public void changesMakeNewInvoices() {
        Invoice paid = invoice.withStatus(InvoiceStatus.PAID).withRefund(new BigDecimal("1.65"));
        assertEquals(InvoiceStatus.OPEN, invoice.status());
        assertEquals(InvoiceStatus.PAID, paid.status());
        assertAmount("1.65", paid.refunded());
    }

    @Test
    public void refusesEmptyLines() {
        assertThrows(BillingException.class, () -> new LineItem("nothing", 0, BigDecimal.ONE));
    }
}
