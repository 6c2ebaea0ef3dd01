package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertAmount;
import static com.acme.billing.testkit.Assertions.assertEquals;
import static com.acme.billing.testkit.Assertions.assertThrows;

import com.acme.billing.gateway.GatewayException;
import com.acme.billing.model.BillingException;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Money;
import com.acme.billing.model.Payment;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.PaymentRepository;
import com.acme.billing.repository.RefundRepository;
import com.acme.billing.service.RefundService;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.util.List;

public final class RefundServiceTest {

    private final InvoiceRepository invoices = new InvoiceRepository();
    private final RefundRepository refunds = new RefundRepository();
    private final RecordingGateway gateway = new RecordingGateway();
    private final RefundService service;

    public RefundServiceTest() {
        PaymentRepository payments = new PaymentRepository();
        service = new RefundService(invoices, payments, refunds, gateway);
        invoices.save(Invoice.open("inv-1", "cus-1",
            List.of(new LineItem("seats", 1, new BigDecimal("80.00"))), Money.ZERO)
            .withStatus(InvoiceStatus.PAID));
        payments.save(new Payment("pay-1", "inv-1", new BigDecimal("80.00")));
    }

    @Test
    public void refundGoesToTheProcessorAndIntoTheBooks() {
        assertEquals("ref-1", service.issueRefund("inv-1", new BigDecimal("30.00")).reference());
        assertEquals(List.of("refund pay-1 30.00"), gateway.calls());
        assertAmount("30.00", invoices.require("inv-1").refunded());
        assertEquals(1, refunds.findByInvoice("inv-1").size());
    }

    @Test
    public void refusesMoreThanIsLeft() {
        service.issueRefund("inv-1", new BigDecimal("50.00"));
        assertThrows(BillingException.class,
            () -> service.issueRefund("inv-1", new BigDecimal("30.01")));
        assertEquals(1, gateway.calls().size());
    }

    @Test
    public void aDeclinedRefundLeavesNoTrace() {
        gateway.decline(true);
        assertThrows(GatewayException.class,
            () -> service.issueRefund("inv-1", new BigDecimal("80.00")));
        gateway.decline(false);
        service.issueRefund("inv-1", new BigDecimal("80.00"));
        assertEquals(1, refunds.findByInvoice("inv-1").size());
    }
}
