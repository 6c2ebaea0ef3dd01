package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertAmount;
import static com.acme.billing.testkit.Assertions.assertEquals;
import static com.acme.billing.testkit.Assertions.assertThrows;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.InvoiceStatus;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.Payment;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.PaymentRepository;
import com.acme.billing.service.PaymentService;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.util.List;

public final class PaymentServiceTest {

    @Test
    public void aRetriedRequestIsChargedOnce() {
        InvoiceRepository invoices = new InvoiceRepository();
        RecordingGateway gateway = new RecordingGateway();
        PaymentService service = new PaymentService(invoices, new PaymentRepository(), gateway);
        invoices.save(Invoice.open("inv-1", "cus-1",
            List.of(new LineItem("seats", 2, new BigDecimal("40.00"))), new BigDecimal("16.00")));

        Payment payment = service.charge("inv-1", "key-1");

        assertAmount("96.00", payment.amount());
        assertEquals(payment, service.charge("inv-1", "key-1"));
        assertThrows(BillingException.class, () -> service.charge("inv-1", "key-2"));
        assertEquals(List.of("charge cus-1 96.00"), gateway.calls());
        assertEquals(InvoiceStatus.PAID, invoices.require("inv-1").status());
    }
}
